CREATE FUNCTION fs.write_file(p_path text, p_data bytea, p_mode integer DEFAULT 420) RETURNS bigint
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
    -- what the new content does not cover
    PERFORM pgbox.cut_chunks(v_sandbox.layers, n.ino, (octet_length(p_data) + 65535) / 65536);
    n.size := 0;
    IF octet_length(p_data) > 0 THEN
        n.size := pgbox.write_chunks(v_sandbox.layers, n.ino, 0, 0, p_data);
    END IF;
    n.mtime := pgbox.now_ns();
    n.ctime := n.mtime;
    PERFORM pgbox.put_inode(v_sandbox.layers[1], n);
    PERFORM pgbox.record(v_sandbox, ARRAY[CASE WHEN f.created THEN 'create' ELSE 'write' END], ARRAY[f.path], NULL, ARRAY[n.ino],
                         CASE WHEN n.ino >= pgbox.first_ino() THEN n.size - v_was ELSE 0 END,
                         f.created::integer, v_sandbox.next_ino + f.created::integer,
                         ARRAY[CASE WHEN NOT f.created THEN v_was END], ARRAY[v_hash]);
    RETURN n.ino;
END
$$;

COMMENT ON FUNCTION fs.write_file(text, bytea, integer) IS
    'Makes a file of p_data, or replaces the content of an existing one, which keeps its inode and mode. Returns the inode number.';
