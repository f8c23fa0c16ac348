CREATE FUNCTION pgbox.log_verb(p_sandbox uuid, p_tenant text, p_what text, p_version_before bigint, p_version_after bigint) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_given jsonb := nullif(current_setting('app.exec', true), '')::jsonb;
    v_exec  jsonb := jsonb_build_object('tenant', p_tenant, 'route', 'sql', 'caller', session_user, 'script', p_what) || coalesce(v_given, '{}');
BEGIN
    -- An id that is taken must not keep the row away: a request whose answer was lost is sent again as it was.
    IF EXISTS (SELECT FROM pgbox.exec e WHERE e.id = (v_exec->>'id')::uuid) THEN
        v_exec := v_exec - 'id';
    END IF;
    PERFORM pgbox.add_exec(p_sandbox, v_exec, p_version_before, p_version_after);
    -- What the transaction does besides is the same caller's, and has rows of its own.
    IF v_given IS NOT NULL THEN
        PERFORM set_config('app.exec', (v_given - ARRAY['id', 'script', 'duration_us'])::text, true);
    END IF;
END
$$;

ALTER FUNCTION pgbox.log_verb(uuid, text, text, bigint, bigint) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION pgbox.log_verb(uuid, text, text, bigint, bigint) IS
    'Writes the audit row of a verb that has changed something, in the transaction of the change. Gateways put who asked into the setting app.exec (an object like the p_exec of fs.apply). Without it, the caller is the database role and the script is p_what. (An empty object tells fs.create_sandbox that fs.apply will write the row.) The sandbox is the nil id for what concerns no sandbox.';
