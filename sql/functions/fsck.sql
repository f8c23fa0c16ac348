CREATE FUNCTION fs.fsck() RETURNS SETOF fs.fault
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET jit = off
AS $$
DECLARE
    v_sandbox pgbox.sandbox := pgbox.enter_read();
    v_layers  uuid[] := v_sandbox.layers;
BEGIN
    RETURN QUERY
    SELECT v_sandbox.id, f.check_name, NULL::bigint, f.layer::text, NULL::bigint, NULL::text, NULL::integer, NULL::bigint
      FROM (SELECT CASE WHEN l.id IS NULL THEN 'missing_layer'
                        WHEN c.n = 1 AND l.sealed_at IS NOT NULL THEN 'sealed_top'
                        WHEN c.n > 1 AND l.sealed_at IS NULL THEN 'unsealed_layer'
                        WHEN count(*) OVER (PARTITION BY c.id) > 1 THEN 'repeated_layer' END AS check_name, c.id AS layer
              FROM unnest(v_layers) WITH ORDINALITY AS c (id, n)
              LEFT JOIN pgbox.layer l ON l.id = c.id) f
     WHERE f.check_name IS NOT NULL;

    RETURN QUERY
    WITH RECURSIVE inode AS MATERIALIZED (
        SELECT DISTINCT ON (n.ino) n.*, array_position(v_layers, n.layer_id) AS pos
          FROM pgbox.inode n
         WHERE n.layer_id = ANY (v_layers)
         ORDER BY n.ino, array_position(v_layers, n.layer_id)
    ), live AS MATERIALIZED (
        SELECT i.* FROM inode i WHERE i.kind <> pgbox.kind('whiteout')
    ), dirent AS MATERIALIZED (
        SELECT e.*
          FROM (SELECT DISTINCT ON (d.parent_ino, d.name) d.parent_ino, d.name, d.ino
                  FROM pgbox.dirent d
                 WHERE d.layer_id = ANY (v_layers)
                 ORDER BY d.parent_ino, d.name, array_position(v_layers, d.layer_id)) e
         WHERE e.ino IS NOT NULL
    ), reached (ino) AS (
        SELECT 1::bigint
        UNION
        SELECT d.ino FROM reached r JOIN dirent d ON d.parent_ino = r.ino
    ), edge AS MATERIALIZED (
        SELECT d.parent_ino, d.name, d.ino FROM dirent d JOIN live i ON i.ino = d.ino AND i.kind = pgbox.kind('dir')
    ), above (start, ino) AS (
        -- only directories that the healthy case does not have: this is empty for a whole tree
        SELECT s.ino, e.parent_ino
          FROM (SELECT e.ino FROM edge e GROUP BY e.ino HAVING count(*) > 1 OR e.ino = 1
                UNION
                SELECT e.ino FROM edge e WHERE NOT EXISTS (SELECT FROM reached r WHERE r.ino = e.ino)) s
          JOIN edge e ON e.ino = s.ino
        UNION
        SELECT a.start, e.parent_ino FROM above a JOIN edge e ON e.ino = a.ino WHERE a.ino <> a.start
    ), names AS MATERIALIZED (
        SELECT d.ino, count(*) AS n FROM dirent d GROUP BY d.ino
    ), subdirs AS MATERIALIZED (
        SELECT e.parent_ino AS ino, count(*) AS n FROM edge e GROUP BY e.parent_ino
    )
    SELECT v_sandbox.id, 'missing_root', 1::bigint, 'the root directory is missing', NULL::bigint, NULL::text, NULL::integer, NULL::bigint
     WHERE NOT EXISTS (SELECT FROM live i WHERE i.ino = 1 AND i.kind = pgbox.kind('dir'))
    UNION ALL
    SELECT v_sandbox.id, 'dangling_dirent', d.ino, format('%s in directory %s', d.name, d.parent_ino), d.parent_ino, d.name, NULL, NULL
      FROM dirent d WHERE NOT EXISTS (SELECT FROM live i WHERE i.ino = d.ino)
    UNION ALL
    SELECT v_sandbox.id, 'orphan_dirent', d.ino, format('%s in directory %s, which is none', d.name, d.parent_ino), d.parent_ino, d.name, NULL, NULL
      FROM dirent d WHERE NOT EXISTS (SELECT FROM live i WHERE i.ino = d.parent_ino AND i.kind = pgbox.kind('dir'))
    UNION ALL
    SELECT v_sandbox.id, 'unreachable_inode', i.ino, format('kind %s', i.kind), NULL, NULL, NULL, NULL
      FROM live i WHERE NOT EXISTS (SELECT FROM reached r WHERE r.ino = i.ino)
    UNION ALL
    SELECT v_sandbox.id, 'cycle', a.ino, 'the directory is below itself', NULL, NULL, NULL, NULL
      FROM above a WHERE a.ino = a.start
    UNION ALL
    SELECT v_sandbox.id, 'directory_names', e.ino, format('%s names', count(*)), NULL, NULL, NULL, NULL
      FROM edge e GROUP BY e.ino HAVING count(*) > 1
    UNION ALL
    SELECT v_sandbox.id, 'nlink', i.ino, format('%s, not %s', i.nlink, CASE i.kind WHEN pgbox.kind('dir') THEN 2 + coalesce(s.n, 0) ELSE coalesce(m.n, 0) END),
           NULL, NULL, NULL, CASE i.kind WHEN pgbox.kind('dir') THEN 2 + coalesce(s.n, 0) ELSE coalesce(m.n, 0) END
      FROM live i
      LEFT JOIN names m ON m.ino = i.ino
      LEFT JOIN subdirs s ON s.ino = i.ino
     WHERE i.nlink <> CASE i.kind WHEN pgbox.kind('dir') THEN 2 + coalesce(s.n, 0) ELSE coalesce(m.n, 0) END
    UNION ALL
    SELECT v_sandbox.id, 'next_ino', max(i.ino), format('next_ino is %s', v_sandbox.next_ino), NULL, NULL, NULL, greatest(max(i.ino) + 1, pgbox.first_ino())
      FROM inode i
    HAVING coalesce(max(i.ino), 0) >= v_sandbox.next_ino OR v_sandbox.next_ino < pgbox.first_ino()
    UNION ALL
    SELECT v_sandbox.id, 'used_bytes', NULL, format('%s, not %s', v_sandbox.used_bytes, u.bytes), NULL, NULL, NULL, u.bytes::bigint
      FROM (SELECT (SELECT coalesce(sum(i.size), 0) FROM live i WHERE i.kind = pgbox.kind('file') AND i.ino >= pgbox.first_ino())
                 + (SELECT coalesce(sum(pgbox.kv_bytes(k.key, k.value)), 0)
                      FROM (SELECT DISTINCT ON (e.key) e.key, e.value FROM pgbox.kv e
                             WHERE e.layer_id = ANY (v_layers)
                             ORDER BY e.key, array_position(v_layers, e.layer_id)) k)
                 + pgbox.state_charge(v_sandbox.state_sha256) AS bytes) u
     WHERE u.bytes <> v_sandbox.used_bytes
    UNION ALL
    SELECT v_sandbox.id, 'used_inodes', NULL, format('%s, not %s', v_sandbox.used_inodes, u.inodes), NULL, NULL, NULL, u.inodes
      FROM (SELECT count(*) AS inodes FROM live i WHERE i.ino >= pgbox.first_ino()) u
     WHERE u.inodes <> v_sandbox.used_inodes;

    RETURN QUERY
    WITH chunk AS MATERIALIZED (
        SELECT e.*
          FROM (SELECT DISTINCT ON (c.ino, c.idx) c.ino, c.idx, c.sha256, array_position(v_layers, c.layer_id) AS pos
                  FROM pgbox.chunk c
                 WHERE c.layer_id = ANY (v_layers)
                 ORDER BY c.ino, c.idx, array_position(v_layers, c.layer_id)) e
         WHERE e.sha256 IS NOT NULL
    ), inode AS MATERIALIZED (
        SELECT DISTINCT ON (n.ino) n.ino, n.kind, n.size, array_position(v_layers, n.layer_id) AS pos
          FROM pgbox.inode n
         WHERE n.layer_id = ANY (v_layers)
         ORDER BY n.ino, array_position(v_layers, n.layer_id)
    ), content AS MATERIALIZED (
        -- each blob is read once, however many chunks share it
        SELECT u.sha256, b.size, sha256(CASE WHEN b.base IS NULL THEN b.data ELSE pgbox.whole(b.base, b.data) END) AS is_sha256
          FROM (SELECT DISTINCT c.sha256 FROM chunk c) u
          LEFT JOIN pgbox.blob b ON b.sha256 = u.sha256
    )
    SELECT v_sandbox.id, f.check_name, f.ino, format('chunk %s: %s', f.idx, encode(f.sha256, 'hex')), NULL::bigint, NULL::text, f.idx, NULL::bigint
      FROM (SELECT c.*,
                   CASE WHEN i.kind = pgbox.kind('whiteout') AND i.pos < c.pos THEN NULL -- a whiteout hides the chunks below it
                        WHEN coalesce(i.kind, pgbox.kind('whiteout')) <> pgbox.kind('file') THEN 'orphan_chunk'
                        WHEN c.idx * pgbox.chunk_size()::bigint >= i.size THEN 'chunk_past_end'
                        WHEN b.size IS NULL THEN 'missing_blob'
                        WHEN b.is_sha256 IS DISTINCT FROM c.sha256 THEN 'corrupt_blob'
                        WHEN b.size <> least(pgbox.chunk_size(), i.size - c.idx * pgbox.chunk_size()::bigint) THEN 'chunk_length' END AS check_name
              FROM chunk c
              LEFT JOIN inode i ON i.ino = c.ino
              LEFT JOIN content b ON b.sha256 = c.sha256) f
     WHERE f.check_name IS NOT NULL;
END
$$;

COMMENT ON FUNCTION fs.fsck() IS
    'Checks every invariant of the sandbox in scope and returns one row for each that is broken: missing_layer, sealed_top, unsealed_layer, repeated_layer, missing_root, dangling_dirent, orphan_dirent, unreachable_inode, cycle, directory_names, nlink, next_ino, used_bytes, used_inodes, orphan_chunk, chunk_past_end, missing_blob, corrupt_blob, chunk_length.';
