CREATE VIEW fs.files WITH (security_invoker = true) AS
SELECT s.id AS sandbox_id, s.tenant, s.owner, t.path, t.ino, t.kind, t.mode, t.uid, t.gid, t.nlink,
       CASE t.kind WHEN 10 THEN octet_length(t.target) ELSE t.size END AS size,
       to_timestamp(t.mtime / 1000000000.0) AS modified_at, t.target, k.content_hash
  FROM pgbox.sandbox s
 CROSS JOIN LATERAL (
       WITH RECURSIVE tree AS (
           SELECT '/'::text COLLATE "C" AS path, 0 AS depth, n.*
             FROM (SELECT i.*
                     FROM pgbox.inode i
                    WHERE i.layer_id = ANY (s.layers) AND i.ino = 1
                    ORDER BY array_position(s.layers, i.layer_id)
                    LIMIT 1) n
           UNION ALL
           SELECT CASE WHEN p.path = '/' THEN '/' || d.name ELSE p.path || '/' || d.name END, p.depth + 1, n.*
             FROM tree p
            CROSS JOIN LATERAL (
                  SELECT DISTINCT ON (e.name) e.name, e.ino
                    FROM pgbox.dirent e
                   WHERE e.layer_id = ANY (s.layers) AND e.parent_ino = p.ino
                   ORDER BY e.name, array_position(s.layers, e.layer_id)) d
            CROSS JOIN LATERAL (
                  SELECT i.*
                    FROM pgbox.inode i
                   WHERE i.layer_id = ANY (s.layers) AND i.ino = d.ino
                   ORDER BY array_position(s.layers, i.layer_id)
                   LIMIT 1) n
            WHERE p.kind = 4 AND p.depth < 8192 AND d.ino IS NOT NULL AND n.kind <> 0
       )
       SELECT tree.* FROM tree) t
  LEFT JOIN LATERAL (
       SELECT pgbox.content_hash(t.size, string_agg(int4send(c.idx) || c.sha256, '' ORDER BY c.idx)) AS content_hash
         FROM (SELECT DISTINCT ON (e.idx) e.idx, e.sha256
                 FROM pgbox.chunk e
                WHERE e.layer_id = ANY (s.layers) AND e.ino = t.ino
                ORDER BY e.idx, array_position(s.layers, e.layer_id)) c
        WHERE c.sha256 IS NOT NULL) k ON t.kind = 8
 WHERE s.deleted_at IS NULL;

COMMENT ON VIEW fs.files IS
    'Every path of every sandbox that is not dropped. kind: 1 fifo, 2 character device, 4 directory, 8 file, 10 symlink. content_hash is the SHA-256 of a regular file''s bytes when they fit into one chunk (65536), else that of its size and the hashes of its chunks (pgbox.content_hash). Ask for one sandbox_id where you can.';
