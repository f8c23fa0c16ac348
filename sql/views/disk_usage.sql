CREATE VIEW fs.disk_usage WITH (security_invoker = true) AS
SELECT ''::text AS path, 0::bigint AS inodes, 0::bigint AS bytes, 0::bigint AS allocated
 WHERE false;

COMMENT ON VIEW fs.disk_usage IS
    'The row type of du; as a table it is empty. bytes are the sizes of the regular files; allocated is that without holes.';
