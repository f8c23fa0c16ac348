CREATE FUNCTION fs.write_at(p_path text, p_data bytea, p_offset bigint) RETURNS void
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
    IF p_data IS NULL OR p_offset IS NULL OR p_offset < 0 THEN
        PERFORM pgbox.raise_errno('EINVAL', 'write', p_path);
    END IF;
    v := pgbox.walk(v_sandbox.layers, p_path, 'follow', 'open');
    IF v.kind = 4 THEN
        PERFORM pgbox.raise_errno('EISDIR', 'open', p_path);
    END IF;
    n := pgbox.inode_of(v_sandbox.layers, v.ino);
    -- 1:3 null, 1:5 zero, 1:7 full
    IF n.kind = 1 OR n.kind = 2 AND n.rdev NOT IN (259, 261, 263) THEN
        PERFORM pgbox.raise_errno('ENXIO', 'open', p_path);
    ELSIF n.rdev = 263 AND octet_length(p_data) > 0 THEN
        PERFORM pgbox.raise_errno('ENOSPC', 'write', p_path);
    ELSIF n.kind = 2 OR octet_length(p_data) = 0 THEN
        RETURN;
    ELSIF p_offset > 140737488355328 - octet_length(p_data) THEN
        PERFORM pgbox.raise_errno('EFBIG', 'write', p_path);
    END IF;
    v_was := n.size;
    IF v_sandbox.journal THEN
        v_hash := pgbox.file_hash(v_sandbox.layers, n.ino, v_was);
    END IF;
    n.size := pgbox.write_chunks(v_sandbox.layers, n.ino, v_was, p_offset, p_data);
    n.mtime := pgbox.now_ns();
    n.ctime := n.mtime;
    PERFORM pgbox.put_inode(v_sandbox.layers[1], n);
    PERFORM pgbox.record(v_sandbox, ARRAY['write'], ARRAY[v.path], NULL, ARRAY[n.ino],
                         CASE WHEN n.ino >= pgbox.first_ino() THEN n.size - v_was ELSE 0 END,
                         p_size_before => ARRAY[v_was], p_hash_before => ARRAY[v_hash]);
END
$$;

COMMENT ON FUNCTION fs.write_at(text, bytea, bigint) IS
    'Overwrites an existing file from an offset on, as pwrite(2): the rest stays as it is, past the end there is a hole before it.';
