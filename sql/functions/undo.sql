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
    'Puts a sandbox back to its newest automatic snapshots, p_steps of them: with a snapshot before every commit, this takes back the last commits. fs.redo() does them again, until the next commit that changes a file. A run that only changed the shell state (cd, export) is not a step; afterwards the shell state is that of before the step. steps says what each step took back: runs and paths. ENODATA when there are fewer steps, EDQUOT when the earlier state exceeds the limits of the sandbox. p_exec is the audit row, as in fs.apply; NULL: only the database role is known.';
