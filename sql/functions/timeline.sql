CREATE FUNCTION fs.timeline(
    p_sandbox   uuid,
    p_limit     integer     DEFAULT 100,
    p_before    timestamptz DEFAULT NULL,
    p_before_id uuid        DEFAULT NULL,
    p_since     timestamptz DEFAULT NULL,
    p_caller    text        DEFAULT NULL,
    p_route     text        DEFAULT NULL,
    p_script    text        DEFAULT NULL,
    p_committed boolean     DEFAULT NULL,
    p_failed    boolean     DEFAULT NULL,
    p_agent     text        DEFAULT NULL
) RETURNS SETOF fs.execs
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM pgbox.enter_sandbox_read(p_sandbox);
    PERFORM pgbox.need_limit(p_limit, 'timeline');
    RETURN QUERY
        SELECT v.* FROM fs.execs v
         WHERE v.sandbox_id = p_sandbox
           AND (p_before IS NULL OR (v.started_at, v.id) < (p_before, coalesce(p_before_id, '00000000-0000-0000-0000-000000000000')))
           AND (p_since IS NULL OR v.started_at >= p_since)
           AND (p_caller IS NULL OR v.caller = p_caller)
           AND (p_agent IS NULL OR v.agent = p_agent)
           AND (p_route IS NULL OR v.route = p_route)
           AND (p_script IS NULL OR strpos(v.script, p_script) > 0)
           AND (p_committed IS NULL OR v.committed = p_committed)
           AND (p_failed IS NULL OR (v.error IS NOT NULL OR coalesce(v.exit_code, 0) <> 0) = p_failed)
         ORDER BY v.started_at DESC, v.id DESC
         LIMIT p_limit;
END
$$;

COMMENT ON FUNCTION fs.timeline(uuid, integer, timestamptz, uuid, timestamptz, text, text, text, boolean, boolean, text) IS
    'The runs of a sandbox that match every filter given, newest first, at most p_limit. The next page begins after the last row: pass its started_at as p_before and its id as p_before_id. p_script is a text that the script contains. p_failed: the run was ended from outside, or its exit status is not 0.';
