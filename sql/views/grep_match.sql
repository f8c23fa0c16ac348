CREATE VIEW fs.grep_match WITH (security_invoker = true) AS
SELECT ''::text AS path, 0::bigint AS line_number, ''::text AS line
 WHERE false;

COMMENT ON VIEW fs.grep_match IS
    'The row type of grep; as a table it is empty.';
