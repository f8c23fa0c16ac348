CREATE FUNCTION pgbox.enter_read() RETURNS pgbox.sandbox
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_id      uuid := pgbox.scope_sandbox();
    v_sandbox pgbox.sandbox;
    v_state   pgbox.snapshot;
BEGIN
    SELECT s.* INTO v_sandbox FROM pgbox.sandbox s WHERE s.id = v_id;
    IF v_sandbox.id IS NULL OR v_sandbox.deleted_at IS NOT NULL OR v_sandbox.expires_at <= clock_timestamp() THEN
        PERFORM pgbox.raise_errno('ESRCH', 'enter', v_id::text);
    END IF;
    IF current_setting('app.at', true) <> '' THEN
        v_state := pgbox.state_at(v_sandbox, current_setting('app.at'));
        v_sandbox.layers := v_state.layers;
        v_sandbox.version := v_state.version;
        v_sandbox.used_bytes := v_state.used_bytes;
        v_sandbox.used_inodes := v_state.used_inodes;
        v_sandbox.state_sha256 := v_state.state_sha256;
    END IF;
    PERFORM set_config('app.layers', v_sandbox.layers::text, true);
    RETURN v_sandbox;
END
$$;

COMMENT ON FUNCTION pgbox.enter_read() IS
    'Begins a verb that only reads, at the state that app.at names. It is STABLE so that the chain of layers and their rows are read with one snapshot, that of the calling statement: with pgbox.enter(false) a layer might be known before its rows are visible.';
