CREATE FUNCTION fs.read_file(p_path text, p_offset bigint DEFAULT 0, p_length bigint DEFAULT NULL) RETURNS bytea
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off
    SET jit = off
    SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    v_sandbox pgbox.sandbox := pgbox.enter_read();
    v         record;
    n         pgbox.inode;
BEGIN
    v := pgbox.walk(v_sandbox.layers, p_path, 'follow', 'open');
    IF v.kind = pgbox.kind('dir') THEN
        PERFORM pgbox.raise_errno('EISDIR', 'read', p_path);
    ELSIF p_offset < 0 OR p_length < 0 THEN
        PERFORM pgbox.raise_errno('EINVAL', 'read', p_path);
    END IF;
    n := pgbox.inode_of(v_sandbox.layers, v.ino);
    IF n.kind = pgbox.kind('char') AND n.rdev = 259 THEN
        RETURN ''; -- /dev/null
    ELSIF n.kind <> pgbox.kind('file') THEN
        PERFORM pgbox.raise_errno('ENXIO', 'open', p_path);
    END IF;
    RETURN pgbox.content_of(v_sandbox.layers, n.ino, n.size, coalesce(p_offset, 0), coalesce(p_length, n.size));
END
$$;

COMMENT ON FUNCTION fs.read_file(text, bigint, bigint) IS
    'Reads a regular file from p_offset on, at most p_length bytes (NULL: to its end). Holes read as NUL bytes; there is nothing past the end. A device other than /dev/null is ENXIO.';
