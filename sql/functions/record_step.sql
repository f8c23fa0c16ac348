CREATE FUNCTION pgbox.record_step(p_sandbox pgbox.sandbox, p_before uuid[], p_exec uuid) RETURNS void
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off
    SET jit = off
AS $$
BEGIN
    IF NOT p_sandbox.journal THEN
        RETURN;
    END IF;
    INSERT INTO pgbox.change (sandbox_id, version, seq, exec_id, db_role, op, path, path_to, ino, size_before, size_after, hash_before, hash_after)
    WITH d AS MATERIALIZED (
        SELECT c.path, c.status, coalesce(nullif(c.path_from, ''), c.path) AS path_from,
               o.ino AS old_ino, o.kind AS old_kind, o.mode AS old_mode, o.uid AS old_uid, o.gid AS old_gid,
               CASE WHEN o.kind = 8 THEN o.size END AS old_size,
               CASE WHEN o.kind = 8 THEN pgbox.file_hash(p_before, o.ino, o.size) END AS old_hash,
               n.ino, n.kind, n.mode, n.uid, n.gid, n.target,
               CASE WHEN n.kind = 8 THEN n.size END AS size,
               CASE WHEN n.kind = 8 THEN pgbox.file_hash(p_sandbox.layers, n.ino, n.size) END AS hash,
               c.status IN ('D', 'T') OR c.status = 'M' AND c.ino <> c.ino_from AND c.kind NOT IN (4, 8) AS gone,
               c.status IN ('A', 'T') OR c.status = 'M' AND c.ino <> c.ino_from AND c.kind NOT IN (4, 8) AS made
          FROM pgbox.compare(p_before, p_sandbox.layers, true) c
          LEFT JOIN LATERAL pgbox.inode_of(p_before, c.ino_from) o ON c.status <> 'A'
          LEFT JOIN LATERAL pgbox.inode_of(p_sandbox.layers, c.ino) n ON c.status <> 'D'
    ), step AS (
        SELECT CASE d.old_kind WHEN 4 THEN 3 ELSE 1 END AS pass, CASE d.old_kind WHEN 4 THEN 'rmdir' ELSE 'unlink' END AS op, d.path_from AS path,
               NULL::text AS path_to, d.old_ino AS ino, d.old_size AS size_before, NULL::bigint AS size_after, d.old_hash AS hash_before, NULL::bytea AS hash_after
          FROM d WHERE d.gone
        UNION ALL
        SELECT 2, 'rename', d.path_from, d.path, d.ino, d.old_size, d.size, d.old_hash, d.hash FROM d WHERE d.status = 'R'
        UNION ALL
        SELECT 4, CASE WHEN l.path IS NOT NULL THEN 'link' WHEN d.kind = 4 THEN 'mkdir' WHEN d.kind = 8 THEN 'create' WHEN d.kind = 10 THEN 'symlink' ELSE 'mknod' END,
               coalesce(l.path, d.path), CASE WHEN l.path IS NOT NULL THEN d.path ELSE d.target END,
               d.ino, CASE WHEN l.path IS NOT NULL THEN d.size END, d.size, CASE WHEN l.path IS NOT NULL THEN d.hash END, d.hash
          FROM d
          -- another name of what was there already
          LEFT JOIN LATERAL (SELECT min(g.path) AS path
                               FROM pgbox.dir_paths(p_before, ARRAY[d.ino]) g
                              WHERE d.kind = 8 AND (pgbox.inode_of(p_before, d.ino)).kind = 8) l ON true
         WHERE d.made
        UNION ALL
        SELECT 5, 'write', d.path, NULL, d.ino, d.old_size, d.size, d.old_hash, d.hash
          FROM d
         WHERE d.status IN ('M', 'R') AND d.kind = 8
           AND (d.size <> d.old_size OR coalesce(d.hash <> d.old_hash,
                   -- too long to have one
                   (SELECT regexp_replace(o.looks, '^([0-9]+[|]){4}', '') FROM pgbox.describe_inodes(p_before, ARRAY[d.old_ino]) o)
                IS DISTINCT FROM
                   (SELECT regexp_replace(o.looks, '^([0-9]+[|]){4}', '') FROM pgbox.describe_inodes(p_sandbox.layers, ARRAY[d.ino]) o)))
        UNION ALL
        SELECT 6, 'chmod', d.path, NULL, d.ino, d.old_size, d.size, d.old_hash, d.hash
          FROM d WHERE d.status IN ('M', 'R') AND NOT d.made AND d.mode <> d.old_mode
        UNION ALL
        SELECT 7, 'chown', d.path, NULL, d.ino, d.old_size, d.size, d.old_hash, d.hash
          FROM d WHERE d.status IN ('M', 'R') AND NOT d.made AND (d.uid <> d.old_uid OR d.gid <> d.old_gid)
    )
    SELECT p_sandbox.id, p_sandbox.version,
           row_number() OVER (ORDER BY s.pass, CASE s.pass WHEN 3 THEN -length(s.path) END, s.path COLLATE "C", s.path_to COLLATE "C") - 1,
           p_exec, CASE WHEN p_exec IS NULL THEN session_user END, s.op, s.path, s.path_to, s.ino, s.size_before, s.size_after, s.hash_before, s.hash_after
      FROM step s;
END
$$;

COMMENT ON FUNCTION pgbox.record_step(pgbox.sandbox, uuid[], uuid) IS
    'The journal of a version that put a sandbox (p_sandbox is its row as it is now) from the layers p_before on other ones, or was made of many operations: what differs, as the operations that would have led there. An inode number means the same file in both.';
