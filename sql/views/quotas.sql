CREATE VIEW fs.quotas WITH (security_invoker = true) AS
SELECT q.tenant, q.owner, u.sandboxes, q.max_sandboxes, u.used_bytes, q.max_bytes, u.used_inodes, q.max_inodes, u.snapshots, q.max_snapshots
  FROM pgbox.quota q
 CROSS JOIN LATERAL (
       SELECT coalesce(sum(o.sandboxes), 0)::bigint AS sandboxes, coalesce(sum(o.used_bytes), 0)::bigint AS used_bytes,
              coalesce(sum(o.used_inodes), 0)::bigint AS used_inodes, coalesce(sum(o.snapshots), 0)::bigint AS snapshots
         FROM fs.owners o
        WHERE o.tenant = q.tenant AND (q.owner = '' OR o.owner = q.owner)) u;

COMMENT ON VIEW fs.quotas IS
    'Every quota and how much of it is used; owner is empty for one of a whole tenant.';
