CREATE VIEW fs.fence WITH (security_invoker = true) AS
SELECT s.id, s.tenant, s.owner, s.name, s.version, s.layers, s.next_ino, s.used_bytes, s.used_inodes, s.max_bytes, s.max_inodes,
       s.env, s.config, s.state_sha256, s.expires_at, s.last_used_at
  FROM pgbox.sandbox s
 WHERE s.deleted_at IS NULL
   AND (s.expires_at IS NULL OR s.expires_at > clock_timestamp());

COMMENT ON VIEW fs.fence IS
    'Every living sandbox, with what a run must know before it starts.';
