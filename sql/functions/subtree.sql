CREATE FUNCTION pgbox.subtree(p_layers uuid[], p_ino bigint, p_path text, p_depth integer, p_hashes boolean DEFAULT false)
RETURNS TABLE (path text, name text, parent bigint, depth integer, ino bigint, kind smallint, mode integer, uid integer, gid integer,
               nlink integer, rdev integer, size bigint, mtime bigint, ctime bigint, target text, content_hash bytea)
    LANGUAGE plpgsql STABLE ROWS 10000
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF p_depth IS NULL AND pgbox.is_much(p_layers, p_ino) THEN
        RETURN QUERY
        SELECT w.path, w.name, w.parent, w.depth, w.ino, w.kind, w.mode, w.uid, w.gid, w.nlink, w.rdev, w.size, w.mtime, w.ctime, w.target,
               w.content_hash
          FROM pgbox.whole_tree(p_layers, p_ino, p_path, p_hashes) w;
        RETURN;
    END IF;
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
         WHERE t.kind = pgbox.kind('dir') AND t.depth < least(coalesce(p_depth, 8192), 8192) AND d.ino IS NOT NULL AND i.kind <> pgbox.kind('whiteout')
    )
    SELECT t.path::text, t.name::text, t.parent, t.depth, t.ino, t.kind, t.mode, t.uid, t.gid, t.nlink, t.rdev,
           CASE t.kind WHEN pgbox.kind('symlink') THEN octet_length(t.target) ELSE t.size END, t.mtime, t.ctime, t.target::text,
           CASE WHEN NOT p_hashes OR t.kind <> pgbox.kind('file') THEN NULL
                WHEN t.size = 0 THEN sha256('')
                WHEN t.size <= pgbox.chunk_size() AND k.chunks IS NOT NULL THEN substring(k.chunks FROM 5)
                ELSE sha256(int8send(t.size) || coalesce(k.chunks, '')) END
      FROM t
      LEFT JOIN LATERAL (
           SELECT string_agg(int4send(e.idx) || e.sha256, '' ORDER BY e.idx) AS chunks
             FROM (SELECT DISTINCT ON (c.idx) c.idx, c.sha256
                     FROM pgbox.chunk c
                    WHERE c.layer_id = ANY (p_layers) AND c.ino = t.ino AND t.kind = pgbox.kind('file') AND p_hashes
                    ORDER BY c.idx, array_position(p_layers, c.layer_id)) e
            WHERE e.sha256 IS NOT NULL) k ON true;
END
$$;

COMMENT ON FUNCTION pgbox.subtree(uuid[], bigint, text, integer, boolean) IS
    'An inode and everything below it, p_depth levels deep (NULL: all, but bounded, so that a damaged tree ends too), in no order. Symlinks are not followed. With p_hashes also the content hash of each regular file.';
