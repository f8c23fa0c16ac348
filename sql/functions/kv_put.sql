CREATE FUNCTION pgbox.kv_put(
    p_sandbox        uuid,
    p_op             text,
    p_key            text,
    p_value          jsonb,
    p_expect_version bigint,
    p_expect_value   jsonb
) RETURNS bigint
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_sandbox pgbox.sandbox := pgbox.enter_sandbox(p_sandbox);
    v_old     pgbox.kv := pgbox.kv_at(v_sandbox.layers, p_key);
    v_version bigint;
BEGIN
    IF p_key IS NULL OR octet_length(p_key) NOT BETWEEN 1 AND 1024 THEN
        PERFORM pgbox.raise_errno('EINVAL', p_op, left(p_key, 100));
    ELSIF octet_length(p_value::text) > 1048576 THEN
        PERFORM pgbox.raise_errno('EFBIG', p_op, p_key);
    ELSIF p_expect_version IS NOT NULL AND p_expect_version <> (CASE WHEN v_old.value IS NULL THEN 0 ELSE v_old.version END)
          OR p_expect_value IS NOT NULL AND p_expect_value IS DISTINCT FROM v_old.value THEN
        PERFORM pgbox.raise_errno('ESTALE', p_op, p_key);
    ELSIF p_value IS NULL AND v_old.value IS NULL THEN
        PERFORM pgbox.raise_errno('ENOENT', p_op, p_key);
    END IF;
    -- Never a version the key had before, in this sandbox or in the one it was forked from.
    v_version := greatest(v_sandbox.version, coalesce(v_old.version, 0)) + 1;
    IF p_value IS NULL AND (pgbox.kv_at(v_sandbox.layers[2:], p_key)).value IS NULL THEN
        DELETE FROM pgbox.kv k WHERE k.layer_id = v_sandbox.layers[1] AND k.key = p_key COLLATE "C";
    ELSE
        INSERT INTO pgbox.kv (layer_id, key, value, version)
        VALUES (v_sandbox.layers[1], p_key, p_value, v_version)
        ON CONFLICT ON CONSTRAINT kv_pkey DO UPDATE SET value = excluded.value, version = excluded.version;
    END IF;
    PERFORM pgbox.log_verb(p_sandbox, v_sandbox.tenant, p_op || ' ' || p_key, v_sandbox.version,
                           pgbox.bump(v_sandbox, pgbox.kv_bytes(p_key, p_value) - pgbox.kv_bytes(p_key, v_old.value), 0));
    RETURN v_version;
END
$$;

COMMENT ON FUNCTION pgbox.kv_put(uuid, text, text, jsonb, bigint, jsonb) IS
    'Sets a key, or removes it when the value is NULL, if it has the version (0: it does not exist) and the value expected; ESTALE otherwise. Returns its version.';
