CREATE VIEW fs.fault WITH (security_invoker = true) AS
SELECT NULL::uuid AS sandbox_id, ''::text AS check_name, NULL::bigint AS ino, ''::text AS detail
 WHERE false;

COMMENT ON VIEW fs.fault IS
    'The row type of fsck: one broken invariant; as a table it is empty.';
