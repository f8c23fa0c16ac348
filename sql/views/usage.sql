CREATE VIEW fs.usage WITH (security_invoker = true) AS
SELECT s.id AS sandbox_id, s.tenant, s.owner, s.name, s.used_bytes, s.max_bytes, s.used_inodes, s.max_inodes,
       cardinality(s.layers) AS layer_count, s.version, s.created_at, s.last_used_at, s.expires_at
  FROM pgbox.sandbox s
 WHERE s.deleted_at IS NULL;

COMMENT ON VIEW fs.usage IS
    'What every sandbox that is not dropped holds and may hold (NULL: no limit). Bytes are the sizes of its regular files; the shared base layer does not count.';
