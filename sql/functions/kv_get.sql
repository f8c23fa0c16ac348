CREATE FUNCTION fs.kv_get(p_sandbox uuid, p_key text) RETURNS SETOF fs.key_value
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_sandbox pgbox.sandbox := pgbox.enter_sandbox_read(p_sandbox);
    v_row     pgbox.kv := pgbox.kv_at(v_sandbox.layers, p_key);
BEGIN
    IF v_row.value IS NULL THEN
        PERFORM pgbox.raise_errno('ENOENT', 'kv_get', p_key);
    END IF;
    RETURN QUERY SELECT v_row.key, v_row.value, v_row.version;
END
$$;

COMMENT ON FUNCTION fs.kv_get(uuid, text) IS
    'The value of a key and its version. ENOENT when there is no such key.';
