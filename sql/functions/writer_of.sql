CREATE FUNCTION pgbox.writer_of(p_exec uuid, p_hash bytea) RETURNS pgbox.exec
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off
    SET jit = off
AS $$
DECLARE
    v_exec pgbox.exec;
    v_next pgbox.exec;
BEGIN
    SELECT e.* INTO v_exec FROM pgbox.exec e WHERE e.id = p_exec;
    -- A merge brought what a run in the other sandbox wrote, or another merge brought there.
    FOR i IN 1..32 LOOP
        EXIT WHEN v_exec.merged_from IS NULL OR p_hash IS NULL;
        SELECT e.* INTO v_next
          FROM pgbox.change c
          JOIN pgbox.exec e ON e.id = c.exec_id
         WHERE c.sandbox_id = v_exec.merged_from AND c.hash_after = p_hash AND c.op IN ('create', 'write', 'truncate', 'copy')
           AND c.at <= v_exec.logged_at
         ORDER BY c.version DESC, c.seq DESC
         LIMIT 1;
        EXIT WHEN v_next.id IS NULL;
        v_exec := v_next;
    END LOOP;
    RETURN v_exec;
END
$$;

ALTER FUNCTION pgbox.writer_of(uuid, bytea) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION pgbox.writer_of(uuid, bytea) IS
    'The run that wrote a content which run p_exec left in a file: p_exec itself or, when that was a merge that brought the content unchanged, the run in the merged sandbox.';
