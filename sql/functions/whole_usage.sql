CREATE FUNCTION pgbox.whole_usage(p_layers uuid[], p_ino bigint, OUT inodes bigint, OUT bytes bigint, OUT stored bigint)
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
    SET work_mem = '64MB'
    SET jit = off
    SET enable_seqscan = off
    SET enable_nestloop = off
    SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
BEGIN
    WITH t AS MATERIALIZED (
        -- a file with several names counts once
        SELECT i.ino, i.kind, i.size
          FROM (SELECT DISTINCT ON (r.ino) r.ino, r.kind, r.size
                  FROM pgbox.inode r
                 WHERE r.layer_id = ANY (p_layers)
                 ORDER BY r.ino, array_position(p_layers, r.layer_id)) i
         -- and everything is below the root
         WHERE i.kind <> pgbox.kind('whiteout') AND (p_ino = 1 OR i.ino IN (
               SELECT p_ino
               UNION ALL
               SELECT d.ino
                 FROM pgbox.dirs_below(p_layers, p_ino, '/') p
                 JOIN (SELECT DISTINCT ON (e.parent_ino, e.name) e.parent_ino, e.name, e.ino
                         FROM pgbox.dirent e
                        WHERE e.layer_id = ANY (p_layers)
                        ORDER BY e.parent_ino, e.name, array_position(p_layers, e.layer_id)) d ON d.parent_ino = p.dir
                WHERE d.ino IS NOT NULL))
    )
    SELECT (SELECT count(*) FROM t), (SELECT coalesce(sum(t.size), 0) FROM t WHERE t.kind = pgbox.kind('file')),
           (SELECT coalesce(sum((SELECT b.size FROM pgbox.blob b WHERE b.sha256 = c.sha256)), 0)
              FROM t
              JOIN (SELECT DISTINCT ON (e.ino, e.idx) e.ino, e.idx, e.sha256
                      FROM pgbox.chunk e
                     WHERE e.layer_id = ANY (p_layers)
                     ORDER BY e.ino, e.idx, array_position(p_layers, e.layer_id)) c ON c.ino = t.ino
             WHERE t.kind = pgbox.kind('file'))
      INTO inodes, bytes, stored;
END
$$;

COMMENT ON FUNCTION pgbox.whole_usage(uuid[], bigint) IS
    'What is at and below an inode that is much of a tree (pgbox.is_much): reads all rows of the layers, each table once, as a cold load does. At the root that includes what fs.fsck() calls unreachable.';
