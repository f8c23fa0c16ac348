CREATE VIEW fs.entry WITH (security_invoker = true) AS
SELECT ''::text AS path, ''::text AS name, n.ino, n.kind, n.mode, n.uid, n.gid, n.nlink, n.rdev, n.size, n.mtime, n.ctime, n.target
  FROM pgbox.inode n
 WHERE false;

COMMENT ON VIEW fs.entry IS
    'The row type of stat, lstat, readdir, tree and find; as a table it is empty. kind: 1 fifo, 2 character device, 4 directory, 8 file, 10 symlink; times in nanoseconds; target of symlinks only.';
