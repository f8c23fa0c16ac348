CREATE FUNCTION fs.update_sandbox(
    p_sandbox       uuid,
    p_name          text        DEFAULT NULL,
    p_env           jsonb       DEFAULT NULL,
    p_labels        jsonb       DEFAULT NULL,
    p_max_bytes     bigint      DEFAULT NULL,
    p_max_inodes    bigint      DEFAULT NULL,
    p_expires_at    timestamptz DEFAULT NULL,
    p_clear         text[]      DEFAULT '{}',
    p_history       jsonb       DEFAULT NULL,
    p_journal       boolean     DEFAULT NULL,
    p_max_snapshots bigint      DEFAULT NULL
) RETURNS SETOF fs.sandbox
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_sandbox pgbox.sandbox;
BEGIN
    PERFORM pgbox.need(p_name IS NULL OR length(p_name) <= 255, 'update_sandbox', 'p_name'), pgbox.need_history(p_history, 'update_sandbox');
    -- Not pgbox.enter(): settings are not what an automatic snapshot keeps, and one that there is no room for would refuse the room.
    PERFORM set_config('app.sandbox_id', p_sandbox::text, true), set_config('app.at', '', true);
    v_sandbox := pgbox.lock_sandbox(p_sandbox);
    UPDATE pgbox.sandbox s
       SET name          = coalesce(p_name, s.name),
           env           = coalesce(p_env, s.env),
           labels        = coalesce(p_labels, s.labels),
           max_bytes     = CASE WHEN 'max_bytes' = ANY (p_clear) THEN NULL ELSE coalesce(p_max_bytes, s.max_bytes) END,
           max_inodes    = CASE WHEN 'max_inodes' = ANY (p_clear) THEN NULL ELSE coalesce(p_max_inodes, s.max_inodes) END,
           expires_at    = CASE WHEN 'expires_at' = ANY (p_clear) THEN NULL ELSE coalesce(p_expires_at, s.expires_at) END,
           max_snapshots = CASE WHEN 'max_snapshots' = ANY (p_clear) THEN NULL ELSE coalesce(p_max_snapshots, s.max_snapshots) END,
           journal       = coalesce(p_journal, s.journal),
           history_commits = CASE WHEN 'history' = ANY (p_clear) THEN NULL WHEN p_history IS NULL THEN s.history_commits
                                  ELSE (p_history->>'commits')::integer END,
           history_seconds = CASE WHEN 'history' = ANY (p_clear) THEN NULL WHEN p_history IS NULL THEN s.history_seconds
                                  ELSE (p_history->>'seconds')::integer END,
           history_keep = coalesce((p_history->>'keep')::integer, s.history_keep)
     WHERE s.id = p_sandbox;
    PERFORM pgbox.log_verb(p_sandbox, v_sandbox.tenant, 'update', v_sandbox.version, v_sandbox.version);
    RETURN QUERY SELECT v.* FROM fs.sandbox v WHERE v.id = p_sandbox;
END
$$;

COMMENT ON FUNCTION fs.update_sandbox(uuid, text, jsonb, jsonb, bigint, bigint, timestamptz, text[], jsonb, boolean, bigint) IS
    'Changes the settings of a sandbox that are given: fs.update_sandbox(id, p_max_bytes => 1000000). NULL leaves a setting as it is; p_clear removes settings by name: max_bytes, max_inodes, max_snapshots, expires_at, history. p_history says when a commit takes an automatic snapshot, as in fs.create_sandbox(); p_journal, whether operations on files are recorded. The tree and its version stay.';
