CREATE VIEW fs.execs WITH (security_invoker = true) AS
SELECT e.id, e.sandbox_id, coalesce(nullif(e.tenant, ''), s.tenant) AS tenant, s.owner, e.route, e.caller, e.script, e.cwd, e.read_only, e.exit_code, e.error, e.idempotency_key, e.started_at,
       e.duration_us, e.stdout_bytes, e.stderr_bytes, e.stdout_head, e.stderr_head, e.version_before, e.version_after, e.committed, e.agent, e.db_role, e.logged_at
  FROM pgbox.exec e
  LEFT JOIN pgbox.sandbox s ON s.id = e.sandbox_id;

COMMENT ON VIEW fs.execs IS
    'Every run in every sandbox: who ran what, how it ended, and what it changed (version_before, version_after).';
