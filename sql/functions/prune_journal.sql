CREATE FUNCTION pgbox.prune_journal(p_sandbox uuid, p_version bigint, p_seq integer, p_limit bigint) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_pruned bigint;
    v_rows   bigint;
BEGIN
    -- Whoever waited for the writer of one sandbox would hold up those of the sandboxes it has marked already.
    PERFORM FROM pgbox.sandbox s WHERE s.id = p_sandbox FOR NO KEY UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    WITH gone AS (
        DELETE FROM pgbox.change c
         WHERE c.ctid = ANY (ARRAY(
               SELECT o.ctid FROM pgbox.change o
                WHERE o.sandbox_id = p_sandbox AND (o.version, o.seq) <= (p_version, p_seq)
                ORDER BY o.version, o.seq
                LIMIT p_limit))
        RETURNING c.version)
    SELECT count(*), max(g.version) INTO v_rows, v_pruned FROM gone g;
    UPDATE pgbox.sandbox s SET pruned_version = v_pruned WHERE s.id = p_sandbox AND s.pruned_version < v_pruned;
    RETURN v_rows;
END
$$;

ALTER FUNCTION pgbox.prune_journal(uuid, bigint, integer, bigint) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION pgbox.prune_journal(uuid, bigint, integer, bigint) IS
    'Removes up to p_limit journal rows of a sandbox, oldest first and none after operation p_seq of p_version, and notes that they are gone. Returns how many; none while somebody writes to the sandbox.';
