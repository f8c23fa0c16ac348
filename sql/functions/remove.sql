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
    v_bytes   bigint := 0;
    v_inodes  bigint := 0;
    v_unref   record;
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
        v_below := pgbox.remove_below(v_sandbox.layers, v.ino, v_now);
        v_bytes := v_below.bytes;
        v_inodes := v_below.inodes;
    END IF;
    n := pgbox.inode_of(v_sandbox.layers, v.ino);
    PERFORM pgbox.set_name(v_sandbox.layers, v.dir, v.name, NULL);
    v_unref := pgbox.unref(v_sandbox.layers, n, v_now);
    PERFORM pgbox.touch_dir(v_sandbox.layers, v.dir, v_now, CASE WHEN n.kind = 4 THEN -1 ELSE 0 END);
    PERFORM pgbox.record(v_sandbox, ARRAY[p_op], ARRAY[v.path], NULL, ARRAY[n.ino], v_bytes + v_unref.bytes, v_inodes + v_unref.inodes);
END
$$;

COMMENT ON FUNCTION pgbox.remove(text, text, boolean, boolean, boolean) IS
    'Removes a name: what unlink (files only), rmdir (directories only) and rm (both) share.';
