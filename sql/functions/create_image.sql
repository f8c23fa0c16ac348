CREATE FUNCTION fs.create_image(
    p_sandbox uuid,
    p_name    text,
    p_tag     text    DEFAULT NULL,
    p_at      text    DEFAULT NULL,
    p_replace boolean DEFAULT false
) RETURNS SETOF fs.image
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_sandbox pgbox.sandbox := pgbox.lock_sandbox(p_sandbox);
    v_tag     text := coalesce(p_tag, 'latest');
    v_before  bigint := v_sandbox.version;
    v_state   pgbox.snapshot;
    v_id      uuid;
    v_old     uuid[];
BEGIN
    PERFORM pgbox.need(p_name ~ '^[a-z0-9][a-z0-9._/-]{0,127}$', 'create_image', 'p_name'),
            pgbox.need(v_tag ~ '^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$', 'create_image', 'p_tag');
    v_state := pgbox.state_at(v_sandbox, p_at);
    IF v_state.id IS NULL THEN
        v_sandbox := pgbox.seal(v_sandbox);
        v_state.layers := v_sandbox.layers[2:];
    END IF;
    IF p_replace THEN
        DELETE FROM pgbox.image i
         WHERE i.tenant = v_sandbox.tenant AND i.name = p_name AND i.tag = v_tag AND i.owner = v_sandbox.owner
        RETURNING i.layers INTO v_old;
    END IF;
    INSERT INTO pgbox.image (tenant, owner, name, tag, layers, next_ino, used_bytes, used_inodes, state_sha256)
    VALUES (v_sandbox.tenant, v_sandbox.owner, p_name, v_tag, v_state.layers, v_sandbox.next_ino, v_state.used_bytes, v_state.used_inodes,
            v_state.state_sha256)
    ON CONFLICT ON CONSTRAINT image_name_key DO NOTHING
    RETURNING id INTO v_id;
    IF v_id IS NULL THEN
        PERFORM pgbox.raise_errno('EEXIST', 'create_image', p_name || ':' || v_tag);
    END IF;
    IF v_old IS NOT NULL THEN
        PERFORM pgbox.free_layers(v_old);
    END IF;
    PERFORM pgbox.log_verb(p_sandbox, v_sandbox.tenant, 'image create ' || p_name || ':' || v_tag, v_before, v_sandbox.version);
    RETURN QUERY SELECT v.* FROM fs.image v WHERE v.id = v_id;
END
$$;

ALTER FUNCTION fs.create_image(uuid, text, text, text, boolean) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION fs.create_image(uuid, text, text, text, boolean) IS
    'Makes an image of a sandbox as it is now or was at p_at (as in pgbox.state_at), in constant time. The tag is latest by default. EEXIST when name and tag are taken, unless p_replace is set and the image has the same owner.';
