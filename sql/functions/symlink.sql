CREATE FUNCTION fs.symlink(p_target text, p_path text) RETURNS bigint
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
    IF p_target IS NULL OR p_target = '' THEN
        PERFORM pgbox.raise_errno(CASE WHEN p_target IS NULL THEN 'EINVAL' ELSE 'ENOENT' END, 'symlink', p_path);
    ELSIF octet_length(p_target) >= 4096 THEN
        PERFORM pgbox.raise_errno('ENAMETOOLONG', 'symlink', p_path);
    END IF;
    v := pgbox.vacant(v_sandbox.layers, p_path, 'symlink', false);
    n.kind := pgbox.kind('symlink');
    n.mode := 511;
    n.target := p_target;
    n := pgbox.create_inode(v_sandbox, v.dir, v.name, n);
    PERFORM pgbox.record(v_sandbox, ARRAY['symlink'], ARRAY[v.path], ARRAY[p_target], ARRAY[n.ino], 0, 1, n.ino + 1);
    RETURN n.ino;
END
$$;

COMMENT ON FUNCTION fs.symlink(text, text) IS
    'Makes a symlink at p_path with the target p_target, which need not exist. Returns the inode number.';
