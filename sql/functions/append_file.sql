CREATE FUNCTION fs.append_file(p_path text, p_data bytea, p_mode integer DEFAULT 420) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off
    SET jit = off
    SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    v_sandbox pgbox.sandbox := pgbox.enter(true);
    f         record;
    n         pgbox.inode;
    v_was     bigint;
    v_hash    bytea;
BEGIN
    IF p_data IS NULL THEN
        PERFORM pgbox.raise_errno('EINVAL', 'write', p_path);
    END IF;
    f := pgbox.open_file(v_sandbox, p_path, coalesce(p_mode, 420));
    n := f.inode;
    IF n.kind = 2 THEN
        IF n.rdev = 263 AND octet_length(p_data) > 0 THEN
            PERFORM pgbox.raise_errno('ENOSPC', 'write', p_path);
        END IF;
        RETURN n.ino;
    END IF;
    v_was := n.size;
    IF v_sandbox.journal AND NOT f.created THEN
        v_hash := pgbox.file_hash(v_sandbox.layers, n.ino, v_was);
    END IF;
    IF v_was + octet_length(p_data) > 140737488355328 THEN
        PERFORM pgbox.raise_errno('EFBIG', 'write', p_path);
    END IF;
    IF octet_length(p_data) > 0 THEN
        n.size := pgbox.write_chunks(v_sandbox.layers, n.ino, n.size, n.size, p_data);
        n.mtime := pgbox.now_ns();
        n.ctime := n.mtime;
        PERFORM pgbox.put_inode(v_sandbox.layers[1], n);
    ELSIF NOT f.created THEN
        RETURN n.ino; -- nothing was written, so no time changes
    END IF;
    PERFORM pgbox.record(v_sandbox, ARRAY[CASE WHEN f.created THEN 'create' ELSE 'write' END], ARRAY[f.path], NULL, ARRAY[n.ino],
                         CASE WHEN n.ino >= pgbox.first_ino() THEN n.size - v_was ELSE 0 END,
                         f.created::integer, v_sandbox.next_ino + f.created::integer,
                         ARRAY[CASE WHEN NOT f.created THEN v_was END], ARRAY[v_hash]);
    RETURN n.ino;
END
$$;

COMMENT ON FUNCTION fs.append_file(text, bytea, integer) IS
    'Appends to a file, which is created when it is missing; only its last chunk is rewritten. Returns the inode number.';
