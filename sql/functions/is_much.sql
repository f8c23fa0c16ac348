CREATE FUNCTION pgbox.is_much(p_layers uuid[], p_ino bigint) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
    SET jit = off
    SET enable_seqscan = off
    SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    v_limit bigint := 512;
    v_found bigint;
    v_all   bigint;
BEGIN
    IF p_ino = 1 THEN
        RETURN true;
    END IF;
    LOOP
        -- Names that are hidden count too: this is an estimate, which must cost less than what it saves.
        WITH RECURSIVE t AS (
            SELECT p_ino AS ino
            UNION ALL
            SELECT e.ino
              FROM t
             CROSS JOIN LATERAL (SELECT d.ino FROM pgbox.dirent d WHERE d.layer_id = ANY (p_layers) AND d.parent_ino = t.ino OFFSET 0) e
             WHERE e.ino IS NOT NULL
        )
        SELECT count(*) INTO v_found FROM (SELECT FROM t LIMIT v_limit) l;
        IF v_found < v_limit THEN
            RETURN false;
        END IF;
        SELECT count(*) INTO v_all FROM (SELECT FROM pgbox.inode i WHERE i.layer_id = ANY (p_layers) LIMIT 8 * v_limit) l;
        IF v_all < 8 * v_limit THEN
            RETURN true;
        END IF;
        v_limit := 4 * v_limit;
    END LOOP;
END
$$;

COMMENT ON FUNCTION pgbox.is_much(uuid[], bigint) IS
    'Whether a directory holds so much of the tree, an eighth or more, that reading all rows of the layers is faster than walking it.';
