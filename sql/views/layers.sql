CREATE VIEW fs.layers WITH (security_invoker = true) AS
SELECT l.id, l.created_at, l.sealed_at, b.sandboxes, n.snapshots, i.inodes, c.chunks, c.bytes
  FROM pgbox.layer l
 CROSS JOIN LATERAL (SELECT count(*) AS sandboxes FROM pgbox.sandbox s WHERE s.deleted_at IS NULL AND s.layers @> ARRAY[l.id]) b
 CROSS JOIN LATERAL (SELECT count(*) AS snapshots FROM pgbox.snapshot p WHERE p.layers @> ARRAY[l.id]) n
 CROSS JOIN LATERAL (SELECT count(*) AS inodes FROM pgbox.inode e WHERE e.layer_id = l.id AND e.kind <> pgbox.kind('whiteout')) i
 CROSS JOIN LATERAL (
       SELECT count(*) AS chunks, coalesce(sum(o.size), 0)::bigint AS bytes
         FROM pgbox.chunk k
         JOIN pgbox.blob o ON o.sha256 = k.sha256
        WHERE k.layer_id = l.id) c;

COMMENT ON VIEW fs.layers IS
    'Every layer, who stands on it (living sandboxes and snapshots; when there is none, fs.gc removes it), and what it holds itself. sealed_at is NULL for the top layer of a sandbox.';
