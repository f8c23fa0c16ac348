CREATE FUNCTION fs.prune(p_age interval DEFAULT NULL, p_operations bigint DEFAULT NULL, p_limit integer DEFAULT 1000) RETURNS TABLE (changes bigint, execs bigint)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET jit = off
AS $$
DECLARE
    v_done    timestamptz;
    v_id      uuid;
    v_version bigint;
    v_seq     integer;
BEGIN
    -- Whoever may call this must not be able to remove the trace of what was just done.
    IF p_age < interval '1 day' THEN
        PERFORM pgbox.raise_errno('EINVAL', 'prune', p_age::text);
    ELSIF p_operations < 1000 THEN
        PERFORM pgbox.raise_errno('EINVAL', 'prune', p_operations::text);
    ELSIF p_limit IS NULL OR p_limit < 1 THEN
        PERFORM pgbox.raise_errno('EINVAL', 'prune', p_limit::text);
    END IF;
    changes := 0;
    execs := 0;
    IF p_age IS NOT NULL THEN
        FOR v_id, v_version, v_seq IN
            SELECT DISTINCT ON (g.sandbox_id) g.sandbox_id, g.version, g.seq
              FROM (SELECT o.sandbox_id, o.version, o.seq FROM pgbox.change o WHERE o.at < clock_timestamp() - p_age LIMIT p_limit) g
             ORDER BY g.sandbox_id, g.version DESC, g.seq DESC
        LOOP
            changes := changes + pgbox.prune_journal(v_id, v_version, v_seq, p_limit - changes);
        END LOOP;
        DELETE FROM pgbox.exec e
         WHERE e.ctid = ANY (ARRAY(SELECT o.ctid FROM pgbox.exec o WHERE o.started_at < clock_timestamp() - p_age LIMIT p_limit));
        GET DIAGNOSTICS execs = ROW_COUNT;
    END IF;
    IF p_operations IS NOT NULL THEN
        SELECT h.done_at INTO v_done FROM pgbox.housekeeping h;
        -- Only what was written to since can have grown too long.
        FOR v_id IN SELECT s.id FROM pgbox.sandbox s WHERE s.last_used_at >= v_done ORDER BY s.id LOOP
            EXIT WHEN changes >= p_limit;
            SELECT c.version, c.seq INTO v_version, v_seq
              FROM pgbox.change c
             WHERE c.sandbox_id = v_id
             ORDER BY c.version DESC, c.seq DESC
            OFFSET p_operations
             LIMIT 1;
            CONTINUE WHEN NOT FOUND;
            changes := changes + pgbox.prune_journal(v_id, v_version, v_seq, p_limit - changes);
        END LOOP;
    END IF;
    RETURN NEXT;
END
$$;

ALTER FUNCTION fs.prune(interval, bigint, integer) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION fs.prune(interval, bigint, integer) IS
    'Removes up to p_limit journal rows and as many audit rows that are older than p_age, and journal rows of a sandbox beyond its newest p_operations. NULL keeps all; less than a day or less than 1000 operations is EINVAL. Returns how many were removed. Only sandboxes written to since the last round of fs.housekeep() are counted; one that is being written to is left for the next round.';
