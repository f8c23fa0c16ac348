CREATE FUNCTION fs.create_sandbox(
    p_id         uuid        DEFAULT NULL,
    p_tenant     text        DEFAULT NULL,
    p_owner      text        DEFAULT NULL,
    p_name       text        DEFAULT NULL,
    p_env        jsonb       DEFAULT NULL,
    p_config     jsonb       DEFAULT NULL,
    p_labels     jsonb       DEFAULT NULL,
    p_max_bytes  bigint      DEFAULT NULL,
    p_max_inodes bigint      DEFAULT NULL,
    p_expires_at timestamptz DEFAULT NULL,
    p_image      text        DEFAULT NULL,
    p_history    jsonb       DEFAULT NULL
) RETURNS SETOF fs.sandbox
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_id    uuid := coalesce(p_id, gen_random_uuid());
    v_top   uuid := pgbox.new_layer_id();
    v_image pgbox.image;
BEGIN
    PERFORM pgbox.need(p_owner IS NOT NULL, 'create_sandbox', 'p_owner'), pgbox.need(length(p_name) <= 255, 'create_sandbox', 'p_name'),
            pgbox.need_history(p_history, 'create_sandbox');
    IF p_image IS NULL THEN
        SELECT ARRAY[d.base_layer], pgbox.first_ino(), 0, 0
          INTO v_image.layers, v_image.next_ino, v_image.used_bytes, v_image.used_inodes
          FROM pgbox.schema_digest d;
    ELSE
        v_image := pgbox.find_image(coalesce(p_tenant, 'default'), p_image, 'create_sandbox');
    END IF;
    IF v_image.used_bytes > p_max_bytes OR v_image.used_inodes > p_max_inodes THEN
        PERFORM pgbox.raise_errno('EDQUOT', 'create_sandbox', p_image);
    END IF;
    INSERT INTO pgbox.layer (id) VALUES (v_top);
    INSERT INTO pgbox.sandbox (id, tenant, owner, name, layers, next_ino, env, config, labels, max_bytes, max_inodes, expires_at,
                               used_bytes, used_inodes, state_sha256, history_commits, history_seconds, history_keep)
    VALUES (v_id, coalesce(p_tenant, 'default'), p_owner, p_name, v_top || v_image.layers, v_image.next_ino,
            coalesce(p_env, '{}'), coalesce(p_config, '{}'), coalesce(p_labels, '{}'), p_max_bytes, p_max_inodes, p_expires_at,
            v_image.used_bytes, v_image.used_inodes, v_image.state_sha256,
            (p_history->>'commits')::integer, (p_history->>'seconds')::integer, coalesce((p_history->>'keep')::integer, 100))
    ON CONFLICT ON CONSTRAINT sandbox_pkey DO NOTHING;
    IF NOT FOUND THEN
        PERFORM pgbox.raise_errno('EEXIST', 'create_sandbox', v_id::text);
    END IF;
    IF p_image IS NOT NULL THEN
        INSERT INTO pgbox.snapshot (sandbox_id, name, kind, layers, next_ino, version, used_bytes, used_inodes, state_sha256)
        VALUES (v_id, '@base', 'base', v_image.layers, v_image.next_ino, 0, v_image.used_bytes, v_image.used_inodes, v_image.state_sha256);
    END IF;
    -- One that a gateway makes together with files has the row of those, and says so.
    IF current_setting('app.exec', true) IS DISTINCT FROM '{}' THEN
        PERFORM pgbox.log_verb(v_id, coalesce(p_tenant, 'default'), 'create', 0, 0);
    END IF;
    RETURN QUERY SELECT v.* FROM fs.sandbox v WHERE v.id = v_id;
END
$$;

ALTER FUNCTION fs.create_sandbox(uuid, text, text, text, jsonb, jsonb, jsonb, bigint, bigint, timestamptz, text, jsonb) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION fs.create_sandbox(uuid, text, text, text, jsonb, jsonb, jsonb, bigint, bigint, timestamptz, text, jsonb) IS
    'Creates a sandbox of p_owner under p_name, which must be given, and returns its row: fs.create_sandbox(p_owner => ''ann'', p_name => ''work''). It starts on the base layer, or on p_image (name or name:tag), in constant time. Without p_id the id is random; without limits it has none. p_history says when a commit first takes an automatic snapshot: {"commits": n, "seconds": n, "keep": n}; NULL: never. EEXIST when the id was ever used, ENOENT when there is no such image, EDQUOT when the image is larger than the limits.';
