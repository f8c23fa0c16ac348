CREATE FUNCTION pgbox.lock_sandbox(p_sandbox uuid) RETURNS pgbox.sandbox
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_sandbox pgbox.sandbox;
BEGIN
    SELECT s.* INTO v_sandbox FROM pgbox.sandbox s WHERE s.id = p_sandbox FOR NO KEY UPDATE;
    IF v_sandbox.id IS NULL OR v_sandbox.deleted_at IS NOT NULL OR v_sandbox.expires_at <= clock_timestamp() THEN
        PERFORM pgbox.raise_errno('ESRCH', 'lock', p_sandbox::text);
    END IF;
    RETURN v_sandbox;
END
$$;

COMMENT ON FUNCTION pgbox.lock_sandbox(uuid) IS
    'Begins a verb on a sandbox as a whole: locks the row of a living sandbox and returns it. ESRCH when there is none. It sets no scope; pgbox.enter() is for verbs inside a sandbox.';
