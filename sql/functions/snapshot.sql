CREATE FUNCTION fs.snapshot(p_sandbox uuid, p_name text) RETURNS SETOF fs.snapshot
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_sandbox pgbox.sandbox := pgbox.lock_sandbox(p_sandbox);
    v_before  bigint := v_sandbox.version;
    v_id      uuid;
BEGIN
    PERFORM pgbox.need(length(p_name) BETWEEN 1 AND 255, 'snapshot', 'p_name');
    IF left(p_name, 1) = '@' THEN
        PERFORM pgbox.raise_errno('EINVAL', 'snapshot', p_name);
    END IF;
    v_sandbox := pgbox.seal(v_sandbox);
    INSERT INTO pgbox.snapshot (sandbox_id, name, layers, next_ino, version, used_bytes, used_inodes, state_sha256, tree_version, changed_at)
    VALUES (p_sandbox, p_name, v_sandbox.layers[2:], v_sandbox.next_ino, v_sandbox.version, v_sandbox.used_bytes, v_sandbox.used_inodes,
            v_sandbox.state_sha256, v_sandbox.tree_version, coalesce(v_sandbox.tree_at, v_sandbox.last_used_at, v_sandbox.created_at))
    ON CONFLICT ON CONSTRAINT snapshot_name_key DO NOTHING
    RETURNING id INTO v_id;
    IF v_id IS NULL THEN
        PERFORM pgbox.raise_errno('EEXIST', 'snapshot', p_name);
    END IF;
    PERFORM pgbox.log_verb(p_sandbox, v_sandbox.tenant, 'snapshot ' || p_name, v_before, v_sandbox.version);
    RETURN QUERY SELECT v.* FROM fs.snapshot v WHERE v.id = v_id;
END
$$;

ALTER FUNCTION fs.snapshot(uuid, text) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION fs.snapshot(uuid, text) IS
    'Keeps the tree and shell state of a sandbox as they are now under a name, in constant time. EEXIST when the name is taken, EINVAL when it begins with @.';
