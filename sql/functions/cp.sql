CREATE FUNCTION fs.cp(p_from text, p_to text, p_recursive boolean DEFAULT false) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET jit = off
    SET enable_seqscan = off
    SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    v_sandbox pgbox.sandbox := pgbox.enter(true);
    v_layers  uuid[] := v_sandbox.layers;
    v_now     bigint := pgbox.now_ns();
    f         record;
    t         record;
    n         pgbox.inode;
    v_copied  record;
BEGIN
    f := pgbox.walk(v_layers, p_from, CASE WHEN p_recursive THEN 'nofollow' ELSE 'follow' END, 'cp');
    n := pgbox.inode_of(v_layers, f.ino);
    IF NOT coalesce(p_recursive, false) THEN
        IF n.kind <> pgbox.kind('file') THEN
            PERFORM pgbox.raise_errno(CASE WHEN n.kind = pgbox.kind('dir') THEN 'EISDIR' ELSE 'ENXIO' END, 'cp', p_from);
        END IF;
        RETURN pgbox.write(v_sandbox, 'cp', p_to, NULL, NULL, n.mode, n);
    END IF;

    t := pgbox.walk(v_layers, p_to, 'parent', 'cp');
    IF t.ino IS NOT NULL THEN
        PERFORM pgbox.raise_errno('EEXIST', 'cp', p_to);
    ELSIF n.ino = ANY (t.dirs) THEN
        PERFORM pgbox.raise_errno('EINVAL', 'cp', p_to);
    ELSIF t.slash AND n.kind <> pgbox.kind('dir') THEN
        PERFORM pgbox.raise_errno('ENOENT', 'cp', p_to);
    END IF;
    v_copied := pgbox.copy_tree(v_sandbox, n.ino, t.dir, t.name, t.path, v_now);
    PERFORM pgbox.touch_dir(v_layers, t.dir, v_now, CASE WHEN n.kind = pgbox.kind('dir') THEN 1 ELSE 0 END);
    -- what came along, then the copy as a whole
    PERFORM pgbox.record(v_sandbox, v_copied.op[2:] || 'copy'::text, v_copied.path[2:] || f.path, v_copied.target[2:] || t.path, v_copied.ino[2:] || v_copied.ino[1],
                         v_copied.bytes, v_copied.inodes, v_sandbox.next_ino + v_copied.inodes, NULL, NULL,
                         v_copied.size[2:] || v_copied.size[1], v_copied.hash[2:] || v_copied.hash[1]);
    RETURN v_sandbox.next_ino;
END
$$;

COMMENT ON FUNCTION fs.cp(text, text, boolean) IS
    'Copies the content of a file to p_to, which is overwritten, or created with the mode of the source. With p_recursive it copies p_from and everything below it to p_to, which must not exist; modes, owners, modification times, symlinks, and hard links among the copies are kept. Chunks are shared: no bytes are copied. Returns the inode number of the copy.';
