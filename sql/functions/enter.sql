CREATE FUNCTION pgbox.enter(p_write boolean) RETURNS pgbox.sandbox
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_id      uuid := pgbox.scope_sandbox();
    v_sandbox pgbox.sandbox;
BEGIN
    IF p_write THEN
        IF current_setting('app.at', true) <> '' THEN
            PERFORM pgbox.raise_errno('EROFS', 'enter', current_setting('app.at', true));
        END IF;
        SELECT s.* INTO v_sandbox FROM pgbox.sandbox s WHERE s.id = v_id FOR NO KEY UPDATE;
    ELSE
        SELECT s.* INTO v_sandbox FROM pgbox.sandbox s WHERE s.id = v_id;
    END IF;
    IF v_sandbox.id IS NULL OR v_sandbox.deleted_at IS NOT NULL OR v_sandbox.expires_at <= clock_timestamp() THEN
        PERFORM pgbox.raise_errno('ESRCH', 'enter', v_id::text);
    END IF;
    IF v_sandbox.open_version IS NOT NULL THEN
        -- One of many operations: the verb they make up has taken the snapshot, and writes the journal.
        v_sandbox.journal := false;
    -- The same condition is in pgbox.advance().
    ELSIF p_write AND v_sandbox.tree_version > v_sandbox.history_version
       AND (v_sandbox.version - v_sandbox.history_version >= v_sandbox.history_commits
            OR v_sandbox.history_at + v_sandbox.history_seconds * interval '1 second' <= clock_timestamp()) THEN
        v_sandbox := pgbox.point(v_sandbox, 'undo');
    END IF;
    PERFORM set_config('app.layers', v_sandbox.layers::text, true);
    RETURN v_sandbox;
END
$$;

COMMENT ON FUNCTION pgbox.enter(boolean) IS
    'Begins a verb: reads the sandbox in scope, and locks its row first when p_write. ESRCH when it is missing, dropped or expired. Sets its layers as the scope of the transaction. Before a change it takes the automatic snapshot that is due. EROFS when app.at has the session at an earlier state.';
