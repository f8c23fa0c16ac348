CREATE FUNCTION pgbox.kv_bytes(p_key text, p_value jsonb) RETURNS bigint
    LANGUAGE sql IMMUTABLE
    SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN p_value IS NULL THEN 0 ELSE octet_length(p_key) + octet_length(p_value::text) END::bigint
$$;

COMMENT ON FUNCTION pgbox.kv_bytes(text, jsonb) IS
    'What a key counts in the usage of its sandbox: the bytes of its name and of its value as text.';
