CREATE VIEW fs.change WITH (security_invoker = true) AS
SELECT c.sandbox_id, c.version, c.seq, c.exec_id, c.op, c.path, c.path_to, c.ino, c.at, c.size_before, c.size_after, c.hash_before, c.hash_after
  FROM pgbox.change c;

COMMENT ON VIEW fs.change IS
    'The journal of file operations, as fs.changes_since() returns it; fs.changes adds the sandbox.';
