CREATE FUNCTION pgbox.enter(p_write boolean) RETURNS pgbox.sandbox
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_id      uuid := pgbox.scope_sandbox();
    v_sandbox pgbox.sandbox;
BEGIN
    IF p_write THEN
        SELECT s.* INTO v_sandbox FROM pgbox.sandbox s WHERE s.id = v_id FOR NO KEY UPDATE;
    ELSE
        SELECT s.* INTO v_sandbox FROM pgbox.sandbox s WHERE s.id = v_id;
    END IF;
    IF v_sandbox.id IS NULL OR v_sandbox.deleted_at IS NOT NULL OR v_sandbox.expires_at <= clock_timestamp() THEN
        PERFORM pgbox.raise_errno(3, 'enter', v_id::text);
    END IF;
    PERFORM set_config('app.layers', v_sandbox.layers::text, true);
    RETURN v_sandbox;
END
$$;

COMMENT ON FUNCTION pgbox.enter(boolean) IS
    'Begins a verb: reads the sandbox in scope (locking its row first when p_write), refuses one that is missing, dropped or expired (VF003), and puts its layers in scope for the transaction.';
