CREATE FUNCTION pgbox.remove(p_path text, p_op text, p_dirs boolean, p_files boolean, p_recursive boolean) RETURNS void
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_sandbox pgbox.sandbox := pgbox.enter(true);
    v_now     bigint := pgbox.now_ns();
    v         record;
    n         pgbox.inode;
    v_below   record;
    v_hash    bytea;
    v_bytes   bigint := 0;
    v_inodes  bigint := 0;
    v_unref   record;
    v_path    text[]   := '{}';
    v_ino     bigint[] := '{}';
    v_size    bigint[] := '{}';
    v_hashes  bytea[]  := '{}';
BEGIN
    v := pgbox.walk(v_sandbox.layers, p_path, 'parent', p_op);
    IF v.last <> 'norm' THEN
        PERFORM pgbox.raise_errno(CASE WHEN NOT p_dirs THEN 21 WHEN v.last = 'dot' THEN 22 WHEN v.last = 'dotdot' THEN 39 ELSE 16 END, p_op, p_path);
    ELSIF v.ino IS NULL THEN
        PERFORM pgbox.raise_errno(2, p_op, p_path);
    ELSIF v.kind = 4 AND NOT p_dirs THEN
        PERFORM pgbox.raise_errno(21, p_op, p_path);
    ELSIF v.kind <> 4 AND (v.slash OR NOT p_files) THEN
        PERFORM pgbox.raise_errno(20, p_op, p_path);
    END IF;
    IF v.kind = 4 AND NOT pgbox.is_empty(v_sandbox.layers, v.ino) THEN
        IF NOT p_recursive THEN
            PERFORM pgbox.raise_errno(39, p_op, p_path);
        END IF;
        IF v_sandbox.journal THEN
            SELECT array_agg(s.path ORDER BY s.depth DESC, s.path COLLATE "C"), array_agg(s.ino ORDER BY s.depth DESC, s.path COLLATE "C"),
                   array_agg(CASE s.kind WHEN 8 THEN s.size END ORDER BY s.depth DESC, s.path COLLATE "C"),
                   array_agg(CASE WHEN s.kind = 8 AND s.size <= 67108864 THEN pgbox.content_hash(s.size, k.chunks) END
                             ORDER BY s.depth DESC, s.path COLLATE "C")
              INTO v_path, v_ino, v_size, v_hashes
              FROM pgbox.subtree(v_sandbox.layers, v.ino, v.path, NULL) s
              -- as pgbox.file_hash says it, without a call for each file
              LEFT JOIN LATERAL (
                   SELECT string_agg(int4send(e.idx) || e.sha256, '' ORDER BY e.idx) AS chunks
                     FROM (SELECT DISTINCT ON (o.idx) o.idx, o.sha256
                             FROM pgbox.chunk o
                            WHERE o.layer_id = ANY (v_sandbox.layers) AND o.ino = s.ino
                            ORDER BY o.idx, array_position(v_sandbox.layers, o.layer_id)) e
                    WHERE e.sha256 IS NOT NULL) k ON s.kind = 8 AND s.size BETWEEN 1 AND 67108864
             WHERE s.depth > 0;
        END IF;
        v_below := pgbox.remove_below(v_sandbox.layers, v.ino, v_now);
        v_bytes := v_below.bytes;
        v_inodes := v_below.inodes;
    END IF;
    n := pgbox.inode_of(v_sandbox.layers, v.ino);
    IF v_sandbox.journal AND n.kind = 8 THEN
        v_hash := pgbox.file_hash(v_sandbox.layers, n.ino, n.size);
    END IF;
    PERFORM pgbox.set_name(v_sandbox.layers, v.dir, v.name, NULL);
    v_unref := pgbox.unref(v_sandbox.layers, n, v_now);
    PERFORM pgbox.touch_dir(v_sandbox.layers, v.dir, v_now, CASE WHEN n.kind = 4 THEN -1 ELSE 0 END);
    -- Children first, as they went.
    PERFORM pgbox.record(v_sandbox, array_fill(p_op, ARRAY[cardinality(v_path) + 1]), v_path || v.path, NULL, v_ino || n.ino,
                         v_bytes + v_unref.bytes, v_inodes + v_unref.inodes, NULL,
                         v_size || CASE n.kind WHEN 8 THEN n.size END, v_hashes || v_hash);
END
$$;

COMMENT ON FUNCTION pgbox.remove(text, text, boolean, boolean, boolean) IS
    'Removes a name: what unlink (files only), rmdir (directories only) and rm (both) share.';
