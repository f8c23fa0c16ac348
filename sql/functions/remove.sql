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
    v_unref   record;
BEGIN
    v := pgbox.walk(v_sandbox.layers, p_path, 'parent', p_op);
    IF v.last <> 'norm' THEN
        PERFORM pgbox.raise_errno(CASE WHEN NOT p_dirs THEN 'EISDIR' WHEN v.last = 'dot' THEN 'EINVAL' WHEN v.last = 'dotdot' THEN 'ENOTEMPTY' ELSE 'EBUSY' END, p_op, p_path);
    ELSIF v.ino IS NULL THEN
        PERFORM pgbox.raise_errno('ENOENT', p_op, p_path);
    ELSIF v.kind = pgbox.kind('dir') AND NOT p_dirs THEN
        PERFORM pgbox.raise_errno('EISDIR', p_op, p_path);
    ELSIF v.kind <> pgbox.kind('dir') AND (v.slash OR NOT p_files) THEN
        PERFORM pgbox.raise_errno('ENOTDIR', p_op, p_path);
    END IF;
    IF v.kind = pgbox.kind('dir') AND NOT pgbox.is_empty(v_sandbox.layers, v.ino) THEN
        IF NOT p_recursive THEN
            PERFORM pgbox.raise_errno('ENOTEMPTY', p_op, p_path);
        END IF;
        v_below := pgbox.remove_below(v_sandbox.layers, v.ino, v.path, v_now, v_sandbox.journal);
    END IF;
    n := pgbox.inode_of(v_sandbox.layers, v.ino);
    IF v_sandbox.journal AND n.kind = pgbox.kind('file') THEN
        v_hash := pgbox.file_hash(v_sandbox.layers, n.ino, n.size);
    END IF;
    PERFORM pgbox.set_name(v_sandbox.layers, v.dir, v.name, NULL);
    v_unref := pgbox.unref(v_sandbox.layers, n, v_now);
    PERFORM pgbox.touch_dir(v_sandbox.layers, v.dir, v_now, CASE WHEN n.kind = pgbox.kind('dir') THEN -1 ELSE 0 END);
    IF v_below IS NULL THEN
        PERFORM pgbox.record(v_sandbox, ARRAY[p_op], ARRAY[v.path], NULL, ARRAY[n.ino], v_unref.bytes, v_unref.inodes, NULL,
                             ARRAY[CASE n.kind WHEN pgbox.kind('file') THEN n.size END], ARRAY[v_hash]);
        RETURN;
    END IF;
    -- Children first, as they went.
    PERFORM pgbox.record(v_sandbox, array_fill(p_op, ARRAY[cardinality(v_below.path) + 1]), v_below.path || v.path, NULL, v_below.ino || n.ino,
                         v_below.bytes + v_unref.bytes, v_below.inodes + v_unref.inodes, NULL,
                         v_below.size || NULL::bigint, v_below.hash || NULL::bytea, v_below.size_after || NULL::bigint, v_below.hash_after || NULL::bytea);
END
$$;

COMMENT ON FUNCTION pgbox.remove(text, text, boolean, boolean, boolean) IS
    'Removes a name: what unlink (files only), rmdir (directories only) and rm (both) share.';
