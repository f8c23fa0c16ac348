CREATE FUNCTION fs.restore(p_sandbox uuid, p_at text, p_exec jsonb DEFAULT NULL) RETURNS SETOF fs.sandbox
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_sandbox pgbox.sandbox := pgbox.lock_sandbox(p_sandbox);
    v_state   pgbox.snapshot := pgbox.state_at(v_sandbox, p_at);
    v_before  bigint := v_sandbox.version;
    v_layers  uuid[];
    v_exec    uuid;
BEGIN
    p_exec := pgbox.exec_or_role(p_exec, v_sandbox.tenant, concat('restore ', p_at));
    IF v_state.id IS NOT NULL THEN
        v_sandbox := pgbox.point(v_sandbox, 'undo');
        v_layers := v_sandbox.layers;
        v_sandbox := pgbox.stand_on(v_sandbox, v_state);
        v_exec := pgbox.add_exec(p_sandbox, p_exec, v_before, v_sandbox.version);
        PERFORM pgbox.record_step(v_sandbox, v_layers, v_exec);
    END IF;
    RETURN QUERY SELECT v.* FROM fs.sandbox v WHERE v.id = p_sandbox;
END
$$;

ALTER FUNCTION fs.restore(uuid, text, jsonb) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION fs.restore(uuid, text, jsonb) IS
    'Puts the tree and shell state of a sandbox back to an earlier state (p_at as in pgbox.state_at), in constant time. The journal says what changed by that, and fs.undo() takes it back. ENOENT when there is no such state. p_exec is the audit row, as in fs.apply; NULL: only the database role is known.';
