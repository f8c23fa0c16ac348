CREATE FUNCTION fs.mv(p_from text, p_to text) RETURNS void
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
    o         pgbox.inode; -- what the new name was
    v_unref   record;
    v_bytes   bigint := 0;
    v_inodes  bigint := 0;
BEGIN
    -- The order of these checks is the one of renameat2 in Linux.
    f := pgbox.walk(v_layers, p_from, 'rename', 'rename');
    t := pgbox.walk(v_layers, p_to, 'rename', 'rename');
    IF f.last <> 'norm' OR t.last <> 'norm' THEN
        PERFORM pgbox.raise_errno('EBUSY', 'rename', CASE WHEN f.last <> 'norm' THEN p_from ELSE p_to END);
    ELSIF octet_length(f.name) > 255 THEN
        PERFORM pgbox.raise_errno('ENAMETOOLONG', 'rename', p_from);
    END IF;
    n := pgbox.inode_of(v_layers, pgbox.lookup(v_layers, f.dir, f.name));
    IF n.ino IS NULL THEN
        PERFORM pgbox.raise_errno('ENOENT', 'rename', p_from);
    ELSIF octet_length(t.name) > 255 THEN
        PERFORM pgbox.raise_errno('ENAMETOOLONG', 'rename', p_to);
    END IF;
    o := pgbox.inode_of(v_layers, pgbox.lookup(v_layers, t.dir, t.name));
    IF n.kind <> pgbox.kind('dir') AND (f.slash OR t.slash) THEN
        PERFORM pgbox.raise_errno('ENOTDIR', 'rename', CASE WHEN f.slash THEN p_from ELSE p_to END);
    ELSIF n.ino = ANY (t.dirs) THEN
        PERFORM pgbox.raise_errno('EINVAL', 'rename', p_to);
    ELSIF o.ino = ANY (f.dirs) THEN
        PERFORM pgbox.raise_errno('ENOTEMPTY', 'rename', p_to);
    ELSIF o.ino = n.ino THEN
        RETURN;
    ELSIF n.kind = pgbox.kind('dir') AND o.kind <> pgbox.kind('dir') THEN
        PERFORM pgbox.raise_errno('ENOTDIR', 'rename', p_to);
    ELSIF n.kind <> pgbox.kind('dir') AND o.kind = pgbox.kind('dir') THEN
        PERFORM pgbox.raise_errno('EISDIR', 'rename', p_to);
    ELSIF o.kind = pgbox.kind('dir') AND NOT pgbox.is_empty(v_layers, o.ino) THEN
        PERFORM pgbox.raise_errno('ENOTEMPTY', 'rename', p_to);
    END IF;

    PERFORM pgbox.set_name(v_layers, f.dir, f.name, NULL);
    PERFORM pgbox.set_name(v_layers, t.dir, t.name, n.ino);
    IF o.ino IS NOT NULL THEN
        v_unref := pgbox.unref(v_layers, o, v_now);
        v_bytes := v_unref.bytes;
        v_inodes := v_unref.inodes;
    END IF;
    n.ctime := v_now;
    PERFORM pgbox.put_inode(v_layers[1], n);
    PERFORM pgbox.touch_dir(v_layers, f.dir, v_now, CASE WHEN n.kind = pgbox.kind('dir') THEN -1 ELSE 0 END);
    PERFORM pgbox.touch_dir(v_layers, t.dir, v_now, CASE WHEN n.kind = pgbox.kind('dir') AND o.ino IS NULL THEN 1 ELSE 0 END);
    PERFORM pgbox.record(v_sandbox, ARRAY['rename'], ARRAY[f.path], ARRAY[t.path], ARRAY[n.ino], v_bytes, v_inodes);
END
$$;

COMMENT ON FUNCTION fs.mv(text, text) IS
    'Renames as rename(2) does: over a file, or over an empty directory if p_from is a directory; a directory never goes below itself; two names of one file stay as they are. Moving a directory costs one dirent and one whiteout, however large it is.';
