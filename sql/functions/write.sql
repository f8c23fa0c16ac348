CREATE FUNCTION pgbox.write(
    p_sandbox pgbox.sandbox,
    p_op      text,
    p_path    text,
    p_data    bytea,
    p_offset  bigint,
    p_mode    integer,
    p_from    pgbox.inode DEFAULT NULL
) RETURNS bigint
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    c_longest constant bigint := 140737488355328;
    v_what    constant text := CASE WHEN p_op IN ('truncate', 'cp') THEN p_op ELSE 'write' END; -- in errors
    v_length  constant bigint := CASE p_op WHEN 'truncate' THEN 0 WHEN 'cp' THEN p_from.size ELSE octet_length(p_data) END;
    f         record;
    n         pgbox.inode;
    v_at      bigint;
    v_was     bigint;
    v_hash    bytea;
BEGIN
    IF v_length IS NULL OR p_op IN ('write_at', 'truncate') AND (p_offset < 0) IS NOT FALSE THEN
        PERFORM pgbox.raise_errno('EINVAL', v_what, p_path);
    END IF;
    f := pgbox.open_file(p_sandbox, p_path, p_op, p_mode);
    n := f.inode;
    IF n.kind = pgbox.kind('char') THEN
        IF n.rdev = 263 AND v_length > 0 THEN -- /dev/full
            PERFORM pgbox.raise_errno('ENOSPC', v_what, p_path);
        END IF;
        RETURN n.ino;
    ELSIF n.ino = p_from.ino THEN
        PERFORM pgbox.raise_errno('EINVAL', 'cp', p_path);
    ELSIF p_op IN ('append', 'write_at') AND v_length = 0 AND NOT f.created THEN
        RETURN n.ino; -- nothing is written, so no time changes
    END IF;
    v_was := n.size;
    v_at := CASE p_op WHEN 'append' THEN v_was ELSE coalesce(p_offset, 0) END;
    IF v_at > c_longest - v_length THEN
        PERFORM pgbox.raise_errno('EFBIG', v_what, p_path);
    END IF;
    IF p_sandbox.journal AND NOT f.created THEN
        v_hash := pgbox.file_hash(p_sandbox.layers, n.ino, v_was);
    END IF;

    IF p_op = 'truncate' THEN
        PERFORM pgbox.resize(p_sandbox.layers, n.ino, v_was, p_offset);
        n.size := p_offset;
    ELSIF p_op = 'cp' THEN
        PERFORM pgbox.cut_chunks(p_sandbox.layers, n.ino, 0);
        PERFORM pgbox.copy_chunks(p_sandbox.layers, ARRAY[p_from.ino], ARRAY[n.ino]);
        n.size := v_length;
    ELSE
        IF p_op = 'write' THEN
            -- what the new content does not cover
            PERFORM pgbox.cut_chunks(p_sandbox.layers, n.ino, ((v_length + pgbox.chunk_size() - 1) / pgbox.chunk_size())::integer);
            n.size := 0;
        END IF;
        IF v_length > 0 THEN
            n.size := pgbox.write_chunks(p_sandbox.layers, n.ino, n.size, v_at, p_data);
        END IF;
    END IF;
    n.mtime := pgbox.now_ns();
    n.ctime := n.mtime;
    PERFORM pgbox.put_inode(p_sandbox.layers[1], n);
    PERFORM pgbox.record(p_sandbox, ARRAY[CASE WHEN f.created THEN 'create' WHEN p_op = 'truncate' THEN 'truncate' ELSE 'write' END],
                         ARRAY[f.path], NULL, ARRAY[n.ino],
                         CASE WHEN n.ino >= pgbox.first_ino() THEN n.size - v_was ELSE 0 END,
                         f.created::integer, p_sandbox.next_ino + f.created::integer,
                         ARRAY[CASE WHEN NOT f.created THEN v_was END], ARRAY[v_hash]);
    RETURN n.ino;
END
$$;

COMMENT ON FUNCTION pgbox.write(pgbox.sandbox, text, text, bytea, bigint, integer, pgbox.inode) IS
    'Changes the content of one file of p_sandbox, which pgbox.enter(true) returned: write replaces it by p_data, append adds p_data, write_at writes p_data from p_offset on, truncate sets the size to p_offset, cp replaces it by the content of p_from. write, append and cp create a missing file, with p_mode. Returns the inode number.';
