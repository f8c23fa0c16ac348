CREATE FUNCTION pgbox.dirs_below(p_layers uuid[], p_ino bigint, p_path text) RETURNS TABLE (dir bigint, path text, depth integer)
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
    SET work_mem = '64MB'
    SET jit = off
    SET enable_seqscan = off
    SET enable_nestloop = off
    SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    v_dir   bigint[];
    v_up    bigint[];
    v_path  text[];
    v_depth integer[];
BEGIN
    WITH e AS MATERIALIZED (
        SELECT n.layer_id, n.parent_ino, n.name, n.ino
          FROM (SELECT DISTINCT i.ino FROM pgbox.inode i WHERE i.layer_id = ANY (p_layers) AND i.kind = pgbox.kind('dir')) g
          JOIN pgbox.dirent n ON n.ino = g.ino
         WHERE n.layer_id = ANY (p_layers) AND n.ino <> p_ino
    )
    SELECT array_agg(e.ino), array_agg(e.parent_ino), array_agg('/' || e.name), array_agg(1)
      INTO v_dir, v_up, v_path, v_depth
      FROM e
     WHERE NOT EXISTS (SELECT FROM pgbox.dirent n
                        WHERE n.layer_id = ANY (p_layers[:array_position(p_layers, e.layer_id) - 1])
                          AND n.parent_ino = e.parent_ino AND n.name = e.name OFFSET 0);
    -- Of each the path from a directory above it, twice as far up each time, until that is p_ino: as many steps as its depth has binary digits.
    FOR v_step IN 1..13 LOOP
        EXIT WHEN v_up IS NULL OR p_ino = ALL (v_up);
        SELECT array_agg(a.dir), array_agg(CASE WHEN a.up = p_ino THEN a.up ELSE b.up END),
               array_agg(CASE WHEN a.up = p_ino THEN a.path ELSE b.path || a.path END),
               array_agg(CASE WHEN a.up = p_ino THEN a.depth ELSE b.depth + a.depth END)
          INTO v_dir, v_up, v_path, v_depth
          FROM unnest(v_dir, v_up, v_path, v_depth) AS a (dir, up, path, depth)
          LEFT JOIN unnest(v_dir, v_up, v_path, v_depth) AS b (dir, up, path, depth) ON b.dir = a.up
         WHERE a.up = p_ino OR b.dir IS NOT NULL;
    END LOOP;
    -- What hangs on itself, in a damaged tree, is not below p_ino.
    RETURN QUERY
    SELECT p_ino, rtrim(p_path, '/'), 0
    UNION ALL
    SELECT a.dir, rtrim(p_path, '/') || a.path, a.depth
      FROM unnest(v_dir, v_up, v_path, v_depth) AS a (dir, up, path, depth)
     WHERE a.up = p_ino;
END
$$;

COMMENT ON FUNCTION pgbox.dirs_below(uuid[], bigint, text) IS
    'A directory, whose path is p_path, and all directories below it; the root''s path is empty. Reads all names and inodes of the layers.';
