CREATE FUNCTION fs.restore(p_sandbox uuid, p_snapshot uuid) RETURNS SETOF fs.sandbox
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_snap pgbox.snapshot;
    v_top  uuid := gen_random_uuid();
BEGIN
    PERFORM pgbox.lock_sandbox(p_sandbox);
    SELECT n.* INTO v_snap FROM pgbox.snapshot n WHERE n.id = p_snapshot AND n.sandbox_id = p_sandbox;
    IF v_snap.id IS NULL THEN
        PERFORM pgbox.raise_errno(2, 'restore', p_snapshot::text);
    END IF;
    INSERT INTO pgbox.layer (id) VALUES (v_top);
    -- The layers that are left go with the next fs.gc, so that this costs the same for every tree.
    -- next_ino stays: an inode number of the tree that is left never comes back as another file.
    UPDATE pgbox.sandbox s
       SET layers = v_top || v_snap.layers, version = s.version + 1, used_bytes = v_snap.used_bytes, used_inodes = v_snap.used_inodes,
           shell_state = v_snap.shell_state, last_used_at = clock_timestamp()
     WHERE s.id = p_sandbox;
    RETURN QUERY SELECT v.* FROM fs.sandbox v WHERE v.id = p_sandbox;
END
$$;

ALTER FUNCTION fs.restore(uuid, uuid) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION fs.restore(uuid, uuid) IS
    'Puts the tree and shell state of a sandbox back to one of its snapshots (VF002 when it has no such snapshot), whatever its size.';
