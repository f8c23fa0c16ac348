-- One statement about tables alone, because a dump carries its text: what arrives in another database, of a later schema too, is compared
-- by the function that looked at what was sent. Hence lists of columns: a column that a later schema adds is not a difference.
CREATE FUNCTION pgbox.digest_sandbox(p_sandbox uuid) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
    SET jit = off
    SET timezone = 'UTC'
    SET datestyle = 'ISO, YMD'
    SET bytea_output = 'hex'
AS $$
DECLARE
    -- Layers count by their places and not by their ids: a copy has another top.
    v_layers uuid[] := ARRAY(SELECT unnest(s.layers) FROM pgbox.sandbox s WHERE s.id = p_sandbox
                             UNION
                             SELECT unnest(n.layers) FROM pgbox.snapshot n WHERE n.sandbox_id = p_sandbox);
    v_digest text;
BEGIN
    WITH part (layer_id, what, part, n, hash) AS (
        -- in parts, because no value may have more than 1 GiB
        SELECT i.layer_id, 'inodes', i.ino >> 12, count(*),
               sha256(convert_to(string_agg(ROW(i.ino, i.kind, i.mode, i.uid, i.gid, i.nlink, i.rdev, i.size, i.mtime, i.ctime, i.target)::text, '' ORDER BY i.ino), 'UTF8'))
          FROM pgbox.inode i WHERE i.layer_id = ANY (v_layers) GROUP BY i.layer_id, i.ino >> 12
        UNION ALL
        SELECT d.layer_id, 'names', d.parent_ino >> 8, count(*),
               sha256(convert_to(string_agg(ROW(d.parent_ino, d.name, d.ino)::text, '' ORDER BY d.parent_ino, d.name), 'UTF8'))
          FROM pgbox.dirent d WHERE d.layer_id = ANY (v_layers) GROUP BY d.layer_id, d.parent_ino >> 8
        UNION ALL
        SELECT c.layer_id, 'chunks', c.ino >> 8, count(*),
               sha256(string_agg(int8send(c.ino) || int4send(c.idx) || coalesce(c.sha256, ''), '' ORDER BY c.ino, c.idx))
          FROM pgbox.chunk c WHERE c.layer_id = ANY (v_layers) GROUP BY c.layer_id, c.ino >> 8
        UNION ALL
        SELECT k.layer_id, 'keys', 0, count(*), sha256(convert_to(string_agg(ROW(k.key, k.value, k.version)::text, '' ORDER BY k.key), 'UTF8'))
          FROM pgbox.kv k WHERE k.layer_id = ANY (v_layers) GROUP BY k.layer_id
    ), layer (id, n, hash) AS MATERIALIZED (
        SELECT l.id, 1, sha256(convert_to((l.sealed_at IS NOT NULL)::text, 'UTF8') ||
                               coalesce((SELECT string_agg(p.hash, '' ORDER BY p.what, p.part) FROM part p WHERE p.layer_id = l.id), ''))
          FROM pgbox.layer l WHERE l.id = ANY (v_layers)
    ), row_hash (what, hash) AS (
        SELECT 'sandboxes', convert_to(ROW(s.tenant, s.owner, s.name, s.next_ino, s.version, s.env, s.config, s.labels, s.max_bytes, s.max_inodes, s.max_snapshots,
                   s.used_bytes, s.used_inodes, s.state_sha256, s.created_at, s.last_used_at, s.expires_at, s.deleted_at, s.tree_version, s.undone_version,
                   s.history_commits, s.history_seconds, s.history_keep, s.history_version, s.history_at, s.journal, s.open_version, s.pruned_version,
                   s.tree_at, s.undone_origin)::text, 'UTF8') ||
               (SELECT string_agg(l.hash, '' ORDER BY u.n) FROM unnest(s.layers) WITH ORDINALITY AS u (id, n) JOIN layer l ON l.id = u.id)
          FROM pgbox.sandbox s WHERE s.id = p_sandbox
        UNION ALL
        SELECT 'snapshots', convert_to(ROW(n.name, n.next_ino, n.version, n.used_bytes, n.used_inodes, n.state_sha256, n.created_at, n.kind, n.stack,
                   n.tree_version, n.changed_at, n.origin_version, n.since_version)::text, 'UTF8') ||
               (SELECT string_agg(l.hash, '' ORDER BY u.n) FROM unnest(n.layers) WITH ORDINALITY AS u (id, n) JOIN layer l ON l.id = u.id)
          FROM pgbox.snapshot n WHERE n.sandbox_id = p_sandbox
        UNION ALL
        SELECT 'runs', convert_to(ROW(e.tenant, e.route, e.caller, e.script, e.cwd, e.read_only, e.exit_code, e.started_at, e.duration_us, e.stdout_bytes, e.stderr_bytes,
                   e.stdout_head, e.stderr_head, e.version_before, e.version_after, e.committed, e.error, e.idempotency_key, e.agent, e.merged_from, e.db_role, e.logged_at)::text, 'UTF8')
          FROM pgbox.exec e WHERE e.sandbox_id = p_sandbox
        UNION ALL
        SELECT 'operations', convert_to(ROW(c.version, c.seq, c.exec_id IS NULL, c.op, c.path, c.path_to, c.ino, c.at, c.size_before, c.size_after, c.hash_before,
                   c.hash_after, c.db_role)::text, 'UTF8')
          FROM pgbox.change c WHERE c.sandbox_id = p_sandbox
        UNION ALL
        -- The bytes are what their name says, or they do not count.
        SELECT 'states', t.sha256
          FROM pgbox.shell_state t
         WHERE t.sha256 IN (SELECT s.state_sha256 FROM pgbox.sandbox s WHERE s.id = p_sandbox
                            UNION SELECT n.state_sha256 FROM pgbox.snapshot n WHERE n.sandbox_id = p_sandbox)
           AND sha256(convert_to(t.state::text, 'UTF8')) = t.sha256
        UNION ALL
        SELECT 'contents', b.sha256
          FROM pgbox.blob b
         WHERE b.sha256 IN (SELECT c.sha256 FROM pgbox.chunk c WHERE c.layer_id = ANY (v_layers) AND c.sha256 IS NOT NULL)
           AND sha256(CASE WHEN b.base IS NULL THEN b.data ELSE (
                   WITH RECURSIVE piece (base, data, n) AS (
                       SELECT b.base, b.data, 1
                       UNION ALL
                       SELECT o.base, o.data, p.n + 1 FROM piece p JOIN pgbox.blob o ON o.sha256 = p.base
                   )
                   SELECT string_agg(p.data, '' ORDER BY p.n DESC) FROM piece p) END) = b.sha256
    ), kind (what, n, hash) AS (
        SELECT r.what, count(*), sha256(string_agg(r.hash, '' ORDER BY r.hash)) FROM (SELECT h.what, sha256(h.hash) AS hash FROM row_hash h) r GROUP BY r.what
        UNION ALL
        SELECT p.what, sum(p.n), NULL FROM part p GROUP BY p.what
        UNION ALL
        SELECT 'layers', count(*), NULL FROM layer l
    )
    SELECT string_agg(k.n || ' ' || k.what, ', ' ORDER BY k.what COLLATE "C") || ', sha256 ' ||
           encode(sha256(string_agg(convert_to(k.n || k.what, 'UTF8') || coalesce(k.hash, ''), '' ORDER BY k.what COLLATE "C")), 'hex')
      INTO v_digest
      FROM kind k;
    RETURN v_digest;
END
$$;

COMMENT ON FUNCTION pgbox.digest_sandbox(uuid) IS
    'The number of rows of each kind that belong to a sandbox, and a hash over all of them and their contents. Ids do not count, so a restored sandbox has the digest of the dumped one.';
