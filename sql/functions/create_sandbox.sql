CREATE FUNCTION fs.create_sandbox(
    p_id         uuid,
    p_tenant     text,
    p_owner      text,
    p_name       text,
    p_env        jsonb,
    p_config     jsonb,
    p_labels     jsonb,
    p_max_bytes  bigint,
    p_max_inodes bigint,
    p_expires_at timestamptz
) RETURNS SETOF fs.sandbox
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_id  uuid := coalesce(p_id, gen_random_uuid());
    v_top uuid := gen_random_uuid();
BEGIN
    INSERT INTO pgbox.layer (id) VALUES (v_top);
    INSERT INTO pgbox.sandbox (id, tenant, owner, name, layers, next_ino, env, config, labels, max_bytes, max_inodes, expires_at)
    SELECT v_id, coalesce(p_tenant, 'default'), p_owner, p_name, ARRAY[v_top, d.base_layer], pgbox.first_ino(),
           coalesce(p_env, '{}'), coalesce(p_config, '{}'), coalesce(p_labels, '{}'), p_max_bytes, p_max_inodes, p_expires_at
      FROM pgbox.schema_digest d
    ON CONFLICT ON CONSTRAINT sandbox_pkey DO NOTHING;
    IF NOT FOUND THEN
        PERFORM pgbox.raise_errno(17, 'create_sandbox', v_id::text);
    END IF;
    RETURN QUERY SELECT v.* FROM fs.sandbox v WHERE v.id = v_id;
END
$$;

ALTER FUNCTION fs.create_sandbox(uuid, text, text, text, jsonb, jsonb, jsonb, bigint, bigint, timestamptz) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION fs.create_sandbox(uuid, text, text, text, jsonb, jsonb, jsonb, bigint, bigint, timestamptz) IS
    'Creates a sandbox: two rows over the base layer. Arguments may be NULL for their defaults, except owner and name; an id that was ever used is VF017.';
