CREATE FUNCTION fs.fork(
    p_sandbox  uuid,
    p_id       uuid,
    p_name     text,
    p_owner    text DEFAULT NULL,
    p_snapshot uuid DEFAULT NULL
) RETURNS SETOF fs.sandbox
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_from pgbox.sandbox := pgbox.lock_sandbox(p_sandbox);
    v_snap pgbox.snapshot;
    v_id   uuid := coalesce(p_id, gen_random_uuid());
    v_top  uuid := gen_random_uuid();
BEGIN
    IF p_snapshot IS NOT NULL THEN
        SELECT n.* INTO v_snap FROM pgbox.snapshot n WHERE n.id = p_snapshot AND n.sandbox_id = p_sandbox;
        IF v_snap.id IS NULL THEN
            PERFORM pgbox.raise_errno(2, 'fork', p_snapshot::text);
        END IF;
        v_from.layers      := NULL::uuid || v_snap.layers;
        v_from.used_bytes  := v_snap.used_bytes;
        v_from.used_inodes := v_snap.used_inodes;
        v_from.shell_state := v_snap.shell_state;
    ELSE
        v_from := pgbox.seal(v_from);
    END IF;
    INSERT INTO pgbox.layer (id) VALUES (v_top);
    INSERT INTO pgbox.sandbox (id, tenant, owner, name, layers, next_ino, env, config, labels, max_bytes, max_inodes,
                               used_bytes, used_inodes, shell_state, expires_at)
    VALUES (v_id, v_from.tenant, coalesce(p_owner, v_from.owner), coalesce(p_name, v_from.name), v_top || v_from.layers[2:],
            v_from.next_ino, v_from.env, v_from.config, v_from.labels, v_from.max_bytes, v_from.max_inodes,
            v_from.used_bytes, v_from.used_inodes, v_from.shell_state, v_from.expires_at)
    ON CONFLICT ON CONSTRAINT sandbox_pkey DO NOTHING;
    IF NOT FOUND THEN
        PERFORM pgbox.raise_errno(17, 'fork', v_id::text);
    END IF;
    RETURN QUERY SELECT v.* FROM fs.sandbox v WHERE v.id = v_id;
END
$$;

ALTER FUNCTION fs.fork(uuid, uuid, text, text, uuid) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION fs.fork(uuid, uuid, text, text, uuid) IS
    'Makes a new sandbox with the tree, shell state and settings of another (or of one of its snapshots), whatever its size. NULL takes a new id, the same name, the same owner, the tree as it is now.';
