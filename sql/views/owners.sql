CREATE VIEW fs.owners WITH (security_invoker = true) AS
SELECT s.tenant, s.owner, count(*) AS sandboxes, sum(s.used_bytes)::bigint AS used_bytes, sum(s.used_inodes)::bigint AS used_inodes,
       sum(n.snapshots)::bigint AS snapshots, max(s.last_used_at) AS last_used_at
  FROM pgbox.sandbox s
 CROSS JOIN LATERAL (SELECT count(*) AS snapshots FROM pgbox.snapshot p WHERE p.sandbox_id = s.id) n
 WHERE s.deleted_at IS NULL
 GROUP BY s.tenant, s.owner;

COMMENT ON VIEW fs.owners IS
    'What each owner of each tenant holds: the sums of fs.usage over sandboxes that are not dropped.';
