CREATE FUNCTION fs.mknod(p_path text, p_kind smallint, p_mode integer DEFAULT 420, p_rdev integer DEFAULT 0) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off
    SET jit = off
    SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    v_sandbox pgbox.sandbox := pgbox.enter(true);
    v         record;
    n         pgbox.inode;
BEGIN
    IF p_kind IS NULL OR p_kind NOT IN (pgbox.kind('fifo'), pgbox.kind('char'), pgbox.kind('file')) THEN
        PERFORM pgbox.raise_errno(CASE WHEN p_kind = pgbox.kind('dir') THEN 'EPERM' ELSE 'EINVAL' END, 'mknod', p_path);
    END IF;
    v := pgbox.vacant(v_sandbox.layers, p_path, 'mknod', false);
    n.kind := p_kind;
    n.mode := coalesce(p_mode, 420);
    n.rdev := CASE WHEN p_kind = pgbox.kind('char') THEN p_rdev ELSE 0 END;
    n := pgbox.create_inode(v_sandbox, v.dir, v.name, n);
    PERFORM pgbox.record(v_sandbox, ARRAY['mknod'], ARRAY[v.path], NULL, ARRAY[n.ino], 0, 1, n.ino + 1);
    RETURN n.ino;
END
$$;

COMMENT ON FUNCTION fs.mknod(text, smallint, integer, integer) IS
    'Makes a FIFO (p_kind 1), a character device (2, p_rdev is major << 8 | minor) or an empty file (8). Returns the inode number.';
