CREATE FUNCTION pgbox.walk_tree(p_layers uuid[]) RETURNS TABLE (path text, parent_ino bigint, name text, ino bigint)
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $$
    WITH RECURSIVE entry AS MATERIALIZED (
        SELECT DISTINCT ON (d.parent_ino, d.name) d.parent_ino, d.name, d.ino
          FROM pgbox.dirent d
         WHERE d.layer_id = ANY (p_layers)
         ORDER BY d.parent_ino, d.name, array_position(p_layers, d.layer_id)
    ), tree AS (
        SELECT ''::text COLLATE "C" AS path, NULL::bigint AS parent_ino, NULL::text COLLATE "C" AS name, 1::bigint AS ino, 0 AS depth
        UNION ALL
        SELECT t.path || '/' || e.name, e.parent_ino, e.name, e.ino, t.depth + 1
          FROM tree t
          JOIN entry e ON e.parent_ino = t.ino
         WHERE e.ino IS NOT NULL AND t.depth < 4096
    )
    SELECT t.path, t.parent_ino, t.name, t.ino FROM tree t WHERE t.depth > 0
$$;

COMMENT ON FUNCTION pgbox.walk_tree(uuid[]) IS
    'Every name that can be reached from the root over a chain of layers.';
