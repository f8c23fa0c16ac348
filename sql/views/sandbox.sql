CREATE VIEW fs.sandbox WITH (security_invoker = true) AS
SELECT s.id, s.tenant, s.owner, s.name, s.layers, s.next_ino, s.version, s.env, s.config, s.labels, s.max_bytes, s.max_inodes,
       s.used_bytes, s.used_inodes, s.state_sha256, s.created_at, s.last_used_at, s.expires_at, s.deleted_at,
       s.history_commits, s.history_seconds, s.history_keep, s.journal, s.max_snapshots, s.pruned_version, NULL::jsonb AS steps
  FROM pgbox.sandbox s;

COMMENT ON VIEW fs.sandbox IS
    'Every sandbox, dropped ones too. steps is only filled in by fs.undo() and fs.redo(), which say there what they did.';
