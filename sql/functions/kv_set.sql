CREATE FUNCTION fs.kv_set(
    p_sandbox        uuid,
    p_key            text,
    p_value          jsonb,
    p_expect_version bigint DEFAULT NULL,
    p_expect_value   jsonb  DEFAULT NULL
) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF p_value IS NULL THEN
        PERFORM pgbox.raise_errno('EINVAL', 'kv_set', p_key);
    END IF;
    RETURN pgbox.kv_put(p_sandbox, 'kv_set', p_key, p_value, p_expect_version, p_expect_value);
END
$$;

COMMENT ON FUNCTION fs.kv_set(uuid, text, jsonb, bigint, jsonb) IS
    'Sets a key and returns its new version. With p_expect_version (0: the key does not exist) or p_expect_value it compares first: ESTALE when the key has changed. A key has at most 1024 bytes, a value at most 1 MiB; both count in the usage.';
