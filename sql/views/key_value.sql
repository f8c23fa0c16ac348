CREATE VIEW fs.key_value WITH (security_invoker = true) AS
SELECT k.key, k.value, k.version
  FROM pgbox.kv k
 WHERE false;

COMMENT ON VIEW fs.key_value IS
    'The row type of kv_get and kv_list: a key of the store of a sandbox; as a table it is empty.';
