CREATE VIEW fs.merge_step WITH (security_invoker = true) AS
SELECT ''::text AS verb, ''::text AS path, ''::text AS path_to, 0::bigint AS ino, ''::bytea AS data, 0 AS mode, 0 AS uid, 0 AS gid
 WHERE false;

COMMENT ON VIEW fs.merge_step IS
    'The row type of one operation that fs.merge() has planned; as a table it is empty. verb is mkdir, mv, rm, rm -r, link, take or take new (the inode ino of the other side), write, or attributes.';
