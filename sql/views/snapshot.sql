CREATE VIEW fs.snapshot WITH (security_invoker = true) AS
SELECT n.id, n.sandbox_id, n.name, n.kind, n.version, n.used_bytes, n.used_inodes, n.created_at
  FROM pgbox.snapshot n;

COMMENT ON VIEW fs.snapshot IS
    'Every snapshot of every sandbox: named ones, automatic ones (@version) and what forks started from (@base).';
