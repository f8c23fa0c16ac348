CREATE FUNCTION fs.log_exec(p_sandbox uuid, p_exec jsonb) RETURNS uuid
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_sandbox pgbox.sandbox := pgbox.enter_sandbox_read(p_sandbox);
BEGIN
    RETURN pgbox.add_exec(p_sandbox, p_exec, coalesce((p_exec->>'version')::bigint, v_sandbox.version), NULL);
END
$$;

COMMENT ON FUNCTION fs.log_exec(uuid, jsonb) IS
    'Writes the audit row of a run that committed nothing (read-only, failed or without a change) and returns its id. Keys as in fs.apply, and version: the one the run saw.';
