CREATE FUNCTION fs.history(p_sandbox uuid, p_path text, p_limit integer DEFAULT 100, p_before bigint DEFAULT NULL, p_before_seq integer DEFAULT NULL) RETURNS SETOF fs.touches
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off
    SET jit = off
    SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    v_sandbox pgbox.sandbox := pgbox.enter_sandbox_read(p_sandbox);
    v         record := pgbox.walk(v_sandbox.layers, p_path, 'parent', 'history');
BEGIN
    PERFORM pgbox.need_limit(p_limit, 'history');
    -- The name may have been another file's before, and the file may have had another name.
    RETURN QUERY
        SELECT t.* FROM fs.touches t
         WHERE t.sandbox_id = p_sandbox
           AND (t.path = v.path OR t.path_to = v.path AND t.op <> 'symlink' OR t.ino = v.ino)
           AND (p_before IS NULL OR (t.version, t.seq) < (p_before, coalesce(p_before_seq, 0)))
         ORDER BY t.version DESC, t.seq DESC
         LIMIT p_limit;
END
$$;

COMMENT ON FUNCTION fs.history(uuid, text, integer, bigint, integer) IS
    'What happened to a path and to the file that has it now, newest first, each with the run that did it, at most p_limit operations. The next page begins after the last row: pass its version as p_before and its seq as p_before_seq. The directory of the path must exist.';
