CREATE VIEW fs.touches WITH (security_invoker = true) AS
SELECT c.sandbox_id, c.version, c.seq, c.op, c.path, c.path_to, c.ino, c.at, c.size_before, c.size_after, c.hash_before, c.hash_after,
       c.exec_id, coalesce(e.caller, c.db_role, '') AS caller, e.route, e.script, e.agent
  FROM pgbox.change c
  LEFT JOIN pgbox.exec e ON e.id = c.exec_id;

COMMENT ON VIEW fs.touches IS
    'The journal of file operations with the run that did each: who touched a path (path, path_to) or a content (hash_before, hash_after; fs.hash_of gives the hash of bytes). For what was done in SQL, exec_id is NULL and caller is the database role.';
