CREATE FUNCTION pgbox.stand_on(p_sandbox pgbox.sandbox, p_state pgbox.snapshot) RETURNS pgbox.sandbox
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_top uuid := pgbox.new_layer_id();
BEGIN
    -- As with any change: what is over a limit may shrink.
    IF p_state.used_bytes > p_sandbox.used_bytes AND p_state.used_bytes > p_sandbox.max_bytes
       OR p_state.used_inodes > p_sandbox.used_inodes AND p_state.used_inodes > p_sandbox.max_inodes THEN
        PERFORM pgbox.raise_errno('EDQUOT', 'restore', p_sandbox.id::text);
    END IF;
    INSERT INTO pgbox.layer (id) VALUES (v_top);
    -- The layers that are left go with the next fs.gc, so that this costs the same for every tree.
    -- next_ino stays: an inode number of the tree that is left never comes back as another file.
    UPDATE pgbox.sandbox s
       SET layers = v_top || p_state.layers, version = s.version + 1, tree_version = s.version + 1, tree_at = NULL, used_bytes = p_state.used_bytes,
           used_inodes = p_state.used_inodes, state_sha256 = p_state.state_sha256, last_used_at = clock_timestamp()
     WHERE s.id = p_sandbox.id
    RETURNING * INTO p_sandbox;
    RETURN p_sandbox;
END
$$;

ALTER FUNCTION pgbox.stand_on(pgbox.sandbox, pgbox.snapshot) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION pgbox.stand_on(pgbox.sandbox, pgbox.snapshot) IS
    'Puts a locked sandbox on the layers of a state, with the usage and shell state of that, as its next version. EDQUOT when that exceeds one of its limits. Returns the row as it is now.';
