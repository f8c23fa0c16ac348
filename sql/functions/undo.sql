CREATE FUNCTION fs.undo(p_sandbox uuid, p_steps integer DEFAULT 1, p_exec jsonb DEFAULT NULL) RETURNS SETOF fs.sandbox
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_sandbox pgbox.sandbox := pgbox.lock_sandbox(p_sandbox);
BEGIN
    IF v_sandbox.undone_version IS DISTINCT FROM v_sandbox.version THEN
        -- What was undone before the last commit cannot be redone over it.
        UPDATE pgbox.snapshot n SET stack = NULL WHERE n.sandbox_id = p_sandbox AND n.kind = 'automatic' AND n.stack = 'redo';
    END IF;
    PERFORM pgbox.step(v_sandbox, 'undo', 'redo', p_steps, p_exec);
    RETURN QUERY SELECT v.* FROM fs.sandbox v WHERE v.id = p_sandbox;
END
$$;

ALTER FUNCTION fs.undo(uuid, integer, jsonb) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION fs.undo(uuid, integer, jsonb) IS
    'Puts a sandbox back to what it was at its newest automatic snapshots, p_steps of them: with one before every commit, takes the last commits back. VF061 when there are not as many. fs.redo() brings them again, until the next commit.';
