CREATE VIEW fs.changes WITH (security_invoker = true) AS
SELECT c.sandbox_id, s.tenant, s.owner, c.version, c.seq, c.exec_id, c.op, c.path, c.path_to, c.ino, c.at,
       c.size_before, c.size_after, c.hash_before, c.hash_after, c.db_role
  FROM pgbox.change c
  LEFT JOIN pgbox.sandbox s ON s.id = c.sandbox_id;

COMMENT ON VIEW fs.changes IS
    'The journal of file operations, ordered by (version, seq) in a sandbox. exec_id is NULL for what was done in SQL, by db_role. Sizes and content hashes are those of a regular file before and after the whole version.';
