CREATE FUNCTION fs.redo(p_sandbox uuid, p_steps integer DEFAULT 1, p_exec jsonb DEFAULT NULL) RETURNS SETOF fs.sandbox
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_sandbox pgbox.sandbox := pgbox.lock_sandbox(p_sandbox);
    v_steps   jsonb;
    v_row     fs.sandbox;
BEGIN
    p_exec := pgbox.exec_or_role(p_exec, v_sandbox.tenant, 'redo');
    IF v_sandbox.undone_version IS DISTINCT FROM v_sandbox.version THEN
        PERFORM pgbox.raise_errno('ENODATA', 'redo', p_sandbox::text);
    END IF;
    v_steps := pgbox.step(v_sandbox, 'redo', 'undo', p_steps, p_exec);
    SELECT v.* INTO v_row FROM fs.sandbox v WHERE v.id = p_sandbox;
    v_row.steps := v_steps;
    RETURN NEXT v_row;
END
$$;

ALTER FUNCTION fs.redo(uuid, integer, jsonb) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION fs.redo(uuid, integer, jsonb) IS
    'Does again what the last p_steps of fs.undo() took back. ENODATA when there is not as much, or when a file was changed since. steps says what each step did; p_exec is as in fs.undo().';
