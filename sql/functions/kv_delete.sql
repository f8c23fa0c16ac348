CREATE FUNCTION fs.kv_delete(p_sandbox uuid, p_key text, p_expect_version bigint DEFAULT NULL, p_expect_value jsonb DEFAULT NULL) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM pgbox.kv_put(p_sandbox, 'kv_delete', p_key, NULL, p_expect_version, p_expect_value);
END
$$;

COMMENT ON FUNCTION fs.kv_delete(uuid, text, bigint, jsonb) IS
    'Removes a key. ENOENT when there is no such key, ESTALE when it does not have the version or value expected.';
