CREATE FUNCTION fs.kv_list(p_sandbox uuid, p_prefix text DEFAULT '', p_limit integer DEFAULT 1000, p_after text DEFAULT '') RETURNS SETOF fs.key_value
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_sandbox pgbox.sandbox := pgbox.enter_sandbox_read(p_sandbox);
BEGIN
    PERFORM pgbox.need_limit(p_limit, 'kv_list');
    RETURN QUERY
    SELECT e.key, e.value, e.version
      FROM (SELECT DISTINCT ON (k.key) k.key, k.value, k.version
              FROM pgbox.kv k
             WHERE k.layer_id = ANY (v_sandbox.layers) AND k.key ^@ p_prefix AND k.key > p_after COLLATE "C"
             ORDER BY k.key, array_position(v_sandbox.layers, k.layer_id)) e
     WHERE e.value IS NOT NULL
     ORDER BY e.key
     LIMIT p_limit;
END
$$;

COMMENT ON FUNCTION fs.kv_list(uuid, text, integer, text) IS
    'The keys of a sandbox that begin with p_prefix, with values and versions: at most p_limit of those after p_after, in byte order.';
