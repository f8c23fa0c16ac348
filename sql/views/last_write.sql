CREATE VIEW fs.last_write WITH (security_invoker = true) AS
SELECT ''::text AS path, n.ino, n.size, c.version, c.at, c.exec_id, e.caller, e.route, e.script, e.agent
  FROM pgbox.inode n
  LEFT JOIN pgbox.change c ON c.ino = n.ino
  LEFT JOIN pgbox.exec e ON e.id = c.exec_id
 WHERE false;

COMMENT ON VIEW fs.last_write IS
    'The row type of blame: a file and who wrote it last; as a table it is empty.';
