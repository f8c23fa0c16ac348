CREATE FUNCTION pgbox.point(p_sandbox pgbox.sandbox, p_stack text) RETURNS pgbox.sandbox
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_keep integer := p_sandbox.history_keep;
BEGIN
    p_sandbox := pgbox.seal_top(p_sandbox);
    p_sandbox.history_version := p_sandbox.version;
    p_sandbox.history_at := clock_timestamp();
    -- The version stays: the caller is about to change the tree, which is the next one.
    UPDATE pgbox.sandbox s
       SET layers = p_sandbox.layers, history_version = p_sandbox.history_version, history_at = p_sandbox.history_at
     WHERE s.id = p_sandbox.id;
    -- Room is made first, or a sandbox that may have no more snapshots could not commit any more. Those that were named stay, whatever comes.
    IF p_sandbox.max_snapshots IS NOT NULL THEN
        v_keep := least(v_keep, p_sandbox.max_snapshots - (SELECT count(*) FROM pgbox.snapshot n WHERE n.sandbox_id = p_sandbox.id AND n.kind <> 'automatic'));
    END IF;
    -- Their layers go with the next fs.gc.
    DELETE FROM pgbox.snapshot n
     WHERE n.sandbox_id = p_sandbox.id AND n.kind = 'automatic' AND n.version < p_sandbox.version
       AND n.version <= (SELECT o.version FROM pgbox.snapshot o
                          WHERE o.sandbox_id = p_sandbox.id AND o.kind = 'automatic' AND o.version < p_sandbox.version
                          ORDER BY o.version DESC
                         OFFSET greatest(v_keep, 1) - 1 LIMIT 1);
    INSERT INTO pgbox.snapshot AS n (sandbox_id, name, kind, stack, layers, next_ino, version, used_bytes, used_inodes, state_sha256, tree_version, changed_at,
                                     origin_version)
    VALUES (p_sandbox.id, '@' || p_sandbox.version, 'automatic', p_stack, p_sandbox.layers[2:], p_sandbox.next_ino, p_sandbox.version,
            p_sandbox.used_bytes, p_sandbox.used_inodes, p_sandbox.state_sha256, p_sandbox.tree_version,
            coalesce(p_sandbox.tree_at, p_sandbox.last_used_at, p_sandbox.created_at),
            CASE WHEN p_sandbox.undone_version = p_sandbox.version THEN p_sandbox.undone_origin END)
    ON CONFLICT ON CONSTRAINT snapshot_name_key DO UPDATE SET stack = excluded.stack;
    RETURN p_sandbox;
END
$$;

ALTER FUNCTION pgbox.point(pgbox.sandbox, text) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION pgbox.point(pgbox.sandbox, text) IS
    'Takes the automatic snapshot of a locked sandbox that is about to change, on the stack of undo or of redo. Removes the oldest automatic snapshots beyond history_keep, and beyond what max_snapshots leaves beside the named ones. Returns the row as it is now.';
