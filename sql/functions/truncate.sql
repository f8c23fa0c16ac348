CREATE FUNCTION fs.truncate(p_path text, p_size bigint) RETURNS void
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
    v_was     bigint;
    v_hash    bytea;
BEGIN
    IF p_size < 0 OR p_size IS NULL THEN
        PERFORM pgbox.raise_errno('EINVAL', 'truncate', p_path);
    END IF;
    v := pgbox.walk(v_sandbox.layers, p_path, 'follow', 'truncate');
    IF v.kind <> 8 THEN
        PERFORM pgbox.raise_errno(CASE WHEN v.kind = 4 THEN 'EISDIR' ELSE 'EINVAL' END, 'truncate', p_path);
    ELSIF p_size > 140737488355328 THEN
        PERFORM pgbox.raise_errno('EFBIG', 'truncate', p_path);
    END IF;
    n := pgbox.inode_of(v_sandbox.layers, v.ino);
    v_was := n.size;
    IF v_sandbox.journal THEN
        v_hash := pgbox.file_hash(v_sandbox.layers, n.ino, v_was);
    END IF;
    PERFORM pgbox.resize(v_sandbox.layers, n.ino, v_was, p_size);
    n.size := p_size;
    n.mtime := pgbox.now_ns();
    n.ctime := n.mtime;
    PERFORM pgbox.put_inode(v_sandbox.layers[1], n);
    PERFORM pgbox.record(v_sandbox, ARRAY['truncate'], ARRAY[v.path], NULL, ARRAY[n.ino],
                         CASE WHEN n.ino >= pgbox.first_ino() THEN n.size - v_was ELSE 0 END,
                         p_size_before => ARRAY[v_was], p_hash_before => ARRAY[v_hash]);
END
$$;

COMMENT ON FUNCTION fs.truncate(text, bigint) IS
    'Sets the size of a regular file. What it grows by is a hole.';
