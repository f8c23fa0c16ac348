CREATE FUNCTION pgbox.subtree(p_layers uuid[], p_ino bigint, p_path text, p_depth integer)
RETURNS TABLE (path text, name text, parent bigint, depth integer, ino bigint, kind smallint, mode integer, uid integer, gid integer,
               nlink integer, rdev integer, size bigint, mtime bigint, ctime bigint, target text)
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    WITH RECURSIVE t AS (
        SELECT p_path COLLATE "C" AS path, regexp_replace(p_path, '^.*/', '') COLLATE "C" AS name, 0::bigint AS parent, 0 AS depth, n.*
          FROM pgbox.inode_of(p_layers, p_ino) n
        UNION ALL
        SELECT CASE WHEN t.path = '/' THEN '/' || d.name ELSE t.path || '/' || d.name END, d.name, t.ino, t.depth + 1, i.*
          FROM t
         CROSS JOIN LATERAL (
               SELECT DISTINCT ON (e.name) e.name, e.ino
                 FROM pgbox.dirent e
                WHERE e.layer_id = ANY (p_layers) AND e.parent_ino = t.ino
                ORDER BY e.name, array_position(p_layers, e.layer_id)) d
         CROSS JOIN LATERAL (
               SELECT n.*
                 FROM pgbox.inode n
                WHERE n.layer_id = ANY (p_layers) AND n.ino = d.ino
                ORDER BY array_position(p_layers, n.layer_id)
                LIMIT 1) i
         WHERE t.kind = 4 AND t.depth < least(coalesce(p_depth, 8192), 8192) AND d.ino IS NOT NULL AND i.kind <> 0
    )
    SELECT t.path::text, t.name::text, t.parent, t.depth, t.ino, t.kind, t.mode, t.uid, t.gid, t.nlink, t.rdev,
           CASE t.kind WHEN 10 THEN octet_length(t.target) ELSE t.size END, t.mtime, t.ctime, t.target::text
      FROM t;
END
$$;

COMMENT ON FUNCTION pgbox.subtree(uuid[], bigint, text, integer) IS
    'An inode and all below it, p_depth levels deep (NULL: all; bounded, so that a damaged tree ends too), in no order. Symlinks are not followed.';
