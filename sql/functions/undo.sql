CREATE FUNCTION fs.undo(p_sandbox uuid, p_steps integer DEFAULT 1, p_exec jsonb DEFAULT NULL) RETURNS SETOF fs.sandbox
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_sandbox pgbox.sandbox := pgbox.lock_sandbox(p_sandbox);
    v_steps   jsonb;
    v_row     fs.sandbox;
BEGIN
    p_exec := pgbox.exec_or_role(p_exec, v_sandbox.tenant, 'undo');
    IF v_sandbox.undone_version IS DISTINCT FROM v_sandbox.version THEN
        -- What was undone before the last commit cannot be redone over it.
        UPDATE pgbox.snapshot n SET stack = NULL WHERE n.sandbox_id = p_sandbox AND n.kind = 'automatic' AND n.stack = 'redo';
    END IF;
    v_steps := pgbox.step(v_sandbox, 'undo', 'redo', p_steps, p_exec);
    SELECT v.* INTO v_row FROM fs.sandbox v WHERE v.id = p_sandbox;
    v_row.steps := v_steps;
    RETURN NEXT v_row;
END
$$;

ALTER FUNCTION fs.undo(uuid, integer, jsonb) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION fs.undo(uuid, integer, jsonb) IS
    'Puts a sandbox back to what it was at its newest automatic snapshots, p_steps of them: with one before every commit, takes the last commits back. VF061 when there are not as many. fs.redo() brings them again, until the next commit that changes a file. A run that only changed the state of the shell (cd, export) is not a step; the state is that of before the step afterwards. steps says what each did: the runs whose changes it took back, and the paths; VF122 when that is more than the limits of the sandbox allow. p_exec is for the audit row, as in fs.apply; NULL: the database role did it.';
