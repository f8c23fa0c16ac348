CREATE VIEW fs.dedup WITH (security_invoker = true) AS
SELECT l.sandboxes, l.bytes AS logical_bytes, b.blobs, b.bytes AS stored_bytes, round(l.bytes / nullif(b.bytes, 0)::numeric, 2) AS ratio
  FROM (SELECT count(*) AS sandboxes, coalesce(sum(s.used_bytes), 0)::bigint AS bytes FROM pgbox.sandbox s WHERE s.deleted_at IS NULL) l
 CROSS JOIN (SELECT count(*) AS blobs, coalesce(sum(octet_length(o.data)), 0)::bigint AS bytes FROM pgbox.blob o) b;

COMMENT ON VIEW fs.dedup IS
    'One row: the bytes that all sandboxes show, the bytes that are stored for them (snapshots and garbage included), and their ratio.';
