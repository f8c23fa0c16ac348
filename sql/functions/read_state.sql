CREATE FUNCTION fs.read_state(p_sandbox uuid, p_sha256 bytea) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_sandbox pgbox.sandbox := pgbox.enter_sandbox_read(p_sandbox);
    v_state   jsonb;
BEGIN
    IF p_sha256 IS NULL THEN
        RETURN '{}';
    END IF;
    -- Exported variables may be secrets: unlike a content, a state is not for whoever knows its name.
    IF v_sandbox.state_sha256 IS DISTINCT FROM p_sha256
       AND NOT EXISTS (SELECT FROM pgbox.snapshot n WHERE n.sandbox_id = p_sandbox AND n.state_sha256 = p_sha256) THEN
        PERFORM pgbox.raise_errno('ESTALE', 'read_state', p_sandbox::text);
    END IF;
    SELECT t.state INTO v_state FROM pgbox.shell_state t WHERE t.sha256 = p_sha256;
    IF v_state IS NULL THEN
        PERFORM pgbox.raise_errno('ESTALE', 'read_state', p_sandbox::text);
    END IF;
    RETURN v_state;
END
$$;

COMMENT ON FUNCTION fs.read_state(uuid, bytea) IS
    'The shell state that fs.fence() names: working directory, exported variables and what else a script leaves to the next. ESTALE when neither the sandbox nor one of its snapshots has it, or has it any more.';
