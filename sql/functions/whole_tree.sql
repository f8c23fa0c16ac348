-- The rows of each table are read once, in the order of the index, as a cold load does: to look for each file in each layer takes several times as long.
CREATE FUNCTION pgbox.whole_tree(p_layers uuid[], p_ino bigint, p_path text, p_hashes boolean)
RETURNS TABLE (path text, name text, parent bigint, depth integer, ino bigint, kind smallint, mode integer, uid integer, gid integer,
               nlink integer, rdev integer, size bigint, mtime bigint, ctime bigint, target text, content_hash bytea)
    LANGUAGE plpgsql STABLE ROWS 10000
    SET search_path = pg_catalog, pg_temp
    SET work_mem = '64MB'
    SET jit = off
    SET enable_seqscan = off
    SET enable_nestloop = off
    SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH t AS (
        SELECT p_path AS path, regexp_replace(p_path, '^.*/', '') AS name, 0::bigint AS parent, 0 AS depth, p_ino AS ino
        UNION ALL
        SELECT p.path || '/' || d.name, d.name, p.dir, p.depth + 1, d.ino
          FROM pgbox.dirs_below(p_layers, p_ino, p_path) p
          JOIN (SELECT DISTINCT ON (e.parent_ino, e.name) e.parent_ino, e.name, e.ino
                  FROM pgbox.dirent e
                 WHERE e.layer_id = ANY (p_layers)
                 ORDER BY e.parent_ino, e.name, array_position(p_layers, e.layer_id)) d ON d.parent_ino = p.dir
         WHERE d.ino IS NOT NULL
    )
    SELECT t.path, t.name, t.parent, t.depth, i.ino, i.kind, i.mode, i.uid, i.gid, i.nlink, i.rdev,
           CASE i.kind WHEN pgbox.kind('symlink') THEN octet_length(i.target) ELSE i.size END, i.mtime, i.ctime, i.target::text,
           -- as pgbox.content_hash says it, without a call for each file
           CASE WHEN NOT p_hashes OR i.kind <> pgbox.kind('file') THEN NULL
                WHEN i.size = 0 THEN sha256('')
                WHEN i.size <= pgbox.chunk_size() AND k.sha256 IS NOT NULL THEN k.sha256
                ELSE sha256(int8send(i.size) || coalesce((
                     SELECT string_agg(int4send(c.idx) || c.sha256, '' ORDER BY c.idx)
                       FROM (SELECT DISTINCT ON (e.idx) e.idx, e.sha256
                               FROM pgbox.chunk e
                              WHERE e.layer_id = ANY (p_layers) AND e.ino = i.ino
                              ORDER BY e.idx, array_position(p_layers, e.layer_id)) c
                      WHERE c.sha256 IS NOT NULL), '')) END
      FROM t
      JOIN (SELECT DISTINCT ON (r.ino) r.*
              FROM pgbox.inode r
             WHERE r.layer_id = ANY (p_layers)
             ORDER BY r.ino, array_position(p_layers, r.layer_id)) i ON i.ino = t.ino
      LEFT JOIN (SELECT DISTINCT ON (e.ino) e.ino, e.sha256
                   FROM pgbox.chunk e
                  WHERE e.layer_id = ANY (p_layers) AND e.idx = 0 AND p_hashes
                  ORDER BY e.ino, array_position(p_layers, e.layer_id)) k ON k.ino = i.ino
     WHERE i.kind <> pgbox.kind('whiteout');
END
$$;

COMMENT ON FUNCTION pgbox.whole_tree(uuid[], bigint, text, boolean) IS
    'As pgbox.subtree(), for what is much of a tree: reads all rows of the layers, each table once, as a cold load does. With p_hashes also the content hash of each regular file.';
