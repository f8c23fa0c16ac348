CREATE VIEW fs.files WITH (security_invoker = true) AS
SELECT s.id AS sandbox_id, s.tenant, s.owner, t.path COLLATE "C" AS path, t.ino, t.kind, t.mode, t.uid, t.gid, t.nlink,
       t.size, to_timestamp(t.mtime / 1000000000.0) AS modified_at, t.target COLLATE "C" AS target, t.content_hash
  FROM pgbox.sandbox s
 CROSS JOIN LATERAL pgbox.whole_tree(s.layers, 1, '/', true) t
 WHERE s.deleted_at IS NULL;

COMMENT ON VIEW fs.files IS
    'Every path of every sandbox that is not dropped. kind: 1 fifo, 2 character device, 4 directory, 8 file, 10 symlink. content_hash is the SHA-256 of a regular file''s bytes when they fit into one chunk (65536), else that of its size and the hashes of its chunks (pgbox.content_hash). Ask for one sandbox_id where you can.';
