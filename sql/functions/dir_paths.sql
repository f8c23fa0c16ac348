CREATE FUNCTION pgbox.dir_paths(p_layers uuid[], p_dirs bigint[]) RETURNS TABLE (ino bigint, path text)
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off
    SET jit = off
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH RECURSIVE up AS (
        SELECT u.ino AS start, u.ino AS dir, ''::text COLLATE "C" AS path, 0 AS depth
          FROM (SELECT DISTINCT d.ino FROM unnest(p_dirs) AS d (ino)) u
        UNION ALL
        SELECT up.start, e.parent_ino, '/' || e.name || up.path, up.depth + 1
          FROM up
         CROSS JOIN LATERAL (
               SELECT d.parent_ino, d.name
                 FROM pgbox.dirent d
                WHERE d.layer_id = ANY (p_layers) AND d.ino = up.dir
                  AND NOT EXISTS (SELECT FROM pgbox.dirent n
                                   WHERE n.layer_id = ANY (p_layers[:array_position(p_layers, d.layer_id) - 1])
                                     AND n.parent_ino = d.parent_ino AND n.name = d.name)
                OFFSET 0) e
         WHERE up.dir <> 1 AND up.depth < 4096
    )
    SELECT up.start, up.path FROM up WHERE up.dir = 1;
END
$$;

COMMENT ON FUNCTION pgbox.dir_paths(uuid[], bigint[]) IS
    'The paths of directories over a chain of layers, found upwards from each. The root''s path is empty; a directory that cannot be reached has no row. A file that is not a directory has a row for each of its names.';
