CREATE VIEW fs.image WITH (security_invoker = true) AS
SELECT i.id, i.tenant, i.owner, i.name, i.tag, i.used_bytes, i.used_inodes, cardinality(i.layers) AS layer_count, i.created_at
  FROM pgbox.image i;

COMMENT ON VIEW fs.image IS
    'Every image: a tree that sandboxes start from.';
