CREATE VIEW fs.fault WITH (security_invoker = true) AS
SELECT NULL::uuid AS sandbox_id, ''::text AS check_name, NULL::bigint AS ino, ''::text AS detail,
       NULL::bigint AS dir, NULL::text AS name, NULL::integer AS idx, NULL::bigint AS want
 WHERE false;

COMMENT ON VIEW fs.fault IS
    'The row type of fsck: one broken invariant; as a table it is empty. dir and name are those of the wrong dirent, idx is that of the chunk, want is the right number.';
