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
               CASE WHEN o.kind = pgbox.kind('file') THEN o.size END AS old_size,
               CASE WHEN o.kind = pgbox.kind('file') THEN pgbox.file_hash(p_before, o.ino, o.size) END AS old_hash,
               n.ino, n.kind, n.mode, n.uid, n.gid, n.target,
               CASE WHEN n.kind = pgbox.kind('file') THEN n.size END AS size,
               CASE WHEN n.kind = pgbox.kind('file') THEN pgbox.file_hash(p_sandbox.layers, n.ino, n.size) END AS hash,
               -- Another file of the same name, which may not be written over when either has other names.
               c.status IN ('D', 'T') OR c.status = 'M' AND c.ino <> c.ino_from AND (c.kind NOT IN (pgbox.kind('dir'), pgbox.kind('file')) OR c.kind = pgbox.kind('file') AND greatest(o.nlink, n.nlink) > 1) AS gone,
               c.status IN ('A', 'T') OR c.status = 'M' AND c.ino <> c.ino_from AND (c.kind NOT IN (pgbox.kind('dir'), pgbox.kind('file')) OR c.kind = pgbox.kind('file') AND greatest(o.nlink, n.nlink) > 1) AS made,
               n.nlink
          FROM pgbox.compare(p_before, p_sandbox.layers, true) c
          LEFT JOIN LATERAL pgbox.inode_of(p_before, c.ino_from) o ON c.status <> 'A'
          LEFT JOIN LATERAL pgbox.inode_of(p_sandbox.layers, c.ino) n ON c.status <> 'D'
    ), busy AS MATERIALIZED (
        -- Places that something leaves, or takes by a rename: who goes there, or below them, has to wait.
        SELECT d.path_from AS path, NULL::text AS own FROM d WHERE d.status = 'R' OR d.gone AND d.old_kind = pgbox.kind('dir')
        UNION ALL
        SELECT d.path, d.path FROM d WHERE d.status = 'R'
    ), late AS MATERIALIZED (
        SELECT DISTINCT x.path
          FROM (SELECT d.path, string_to_array(d.path, '/') AS parts FROM d WHERE d.status = 'R' OR d.made AND d.kind = pgbox.kind('dir')) x
         CROSS JOIN LATERAL (SELECT array_to_string(x.parts[:g.n], '/') AS path FROM generate_series(2, cardinality(x.parts)) AS g (n)) up
          JOIN busy b ON b.path = up.path AND b.own IS DISTINCT FROM x.path
    ), place AS MATERIALIZED (
        SELECT d.*, l.path IS NOT NULL AS late, '/.pgbox-' || p_sandbox.version || '-' || d.ino AS aside,
               length(d.path) - length(replace(d.path, '/', '')) AS depth,
               length(d.path_from) - length(replace(d.path_from, '/', '')) AS depth_from,
               -- another name of what is there already, or is made first
               CASE WHEN d.made AND d.kind = pgbox.kind('file') AND d.nlink > 1 THEN
                   (SELECT coalesce(min(g.path) FILTER (WHERE m.path IS NULL), min(g.path))
                      FROM pgbox.dir_paths(p_sandbox.layers, ARRAY[d.ino]) g
                      LEFT JOIN d m ON m.path = g.path AND m.made) END AS anchor
          FROM d LEFT JOIN late l ON l.path = d.path
    ), step AS (
        SELECT 1 AS pass, 0 AS depth, 'unlink' AS op, d.path_from AS path,
               NULL::text AS path_to, d.old_ino AS ino, d.old_size AS size_before, NULL::bigint AS size_after, d.old_hash AS hash_before, NULL::bytea AS hash_after
          FROM place d WHERE d.gone AND d.old_kind <> pgbox.kind('dir')
        UNION ALL
        SELECT 2, d.depth, 'mkdir', d.path, NULL, d.ino, NULL, NULL, NULL, NULL FROM place d WHERE d.made AND d.kind = pgbox.kind('dir') AND NOT d.late
        UNION ALL
        -- What is deeper goes first, so that its old path still holds.
        SELECT 3, -d.depth_from, 'rmdir', d.path_from, NULL, d.old_ino, NULL, NULL, NULL, NULL FROM place d WHERE d.gone AND d.old_kind = pgbox.kind('dir')
        UNION ALL
        SELECT 3, -d.depth_from, 'rename', d.path_from, CASE WHEN d.late THEN d.aside ELSE d.path END, d.ino, d.old_size, d.size, d.old_hash, d.hash
          FROM place d WHERE d.status = 'R'
        UNION ALL
        -- And from above to below into the new places.
        SELECT 4, d.depth, 'rename', d.aside, d.path, d.ino, d.old_size, d.size, d.old_hash, d.hash FROM place d WHERE d.status = 'R' AND d.late
        UNION ALL
        SELECT 4, d.depth, CASE d.kind WHEN pgbox.kind('dir') THEN 'mkdir' WHEN pgbox.kind('file') THEN 'create' WHEN pgbox.kind('symlink') THEN 'symlink' ELSE 'mknod' END, d.path, d.target, d.ino, NULL, d.size, NULL, d.hash
          FROM place d WHERE d.made AND (d.kind <> pgbox.kind('dir') OR d.late) AND coalesce(d.anchor, d.path) = d.path
        UNION ALL
        SELECT 5, 0, 'link', d.anchor, d.path, d.ino, d.size, d.size, d.hash, d.hash FROM place d WHERE d.made AND d.anchor <> d.path
        UNION ALL
        SELECT 6, 0, 'write', d.path, NULL, d.ino, d.old_size, d.size, d.old_hash, d.hash
          FROM d
         WHERE d.status IN ('M', 'R') AND NOT d.made AND d.kind = pgbox.kind('file')
           AND (d.size <> d.old_size OR coalesce(d.hash <> d.old_hash,
                   -- too long to have one
                   (SELECT o.content FROM pgbox.describe_inodes(p_before, ARRAY[d.old_ino]) o)
                IS DISTINCT FROM
                   (SELECT o.content FROM pgbox.describe_inodes(p_sandbox.layers, ARRAY[d.ino]) o)))
        UNION ALL
        SELECT 7, 0, 'chmod', d.path, NULL, d.ino, d.old_size, d.size, d.old_hash, d.hash
          FROM d WHERE d.status IN ('M', 'R') AND NOT d.made AND d.mode <> d.old_mode
        UNION ALL
        SELECT 8, 0, 'chown', d.path, NULL, d.ino, d.old_size, d.size, d.old_hash, d.hash
          FROM d WHERE d.status IN ('M', 'R') AND NOT d.made AND (d.uid <> d.old_uid OR d.gid <> d.old_gid)
    )
    SELECT p_sandbox.id, p_sandbox.version,
           row_number() OVER (ORDER BY s.pass, s.depth, s.path COLLATE "C", s.path_to COLLATE "C") - 1,
           p_exec, CASE WHEN p_exec IS NULL THEN session_user END, s.op, s.path, s.path_to, s.ino, s.size_before, s.size_after, s.hash_before, s.hash_after
      FROM step s;
END
$$;

COMMENT ON FUNCTION pgbox.record_step(pgbox.sandbox, uuid[], uuid) IS
    'Writes the journal of a version that put a sandbox on other layers, or consists of many operations: what differs between p_before and p_sandbox.layers, as operations that lead from the one tree to the other when they are done in order. A file in the way of another rename goes by a temporary name in the root that begins with .pgbox-. p_sandbox is the row as it is now; an inode number means the same file in both.';
