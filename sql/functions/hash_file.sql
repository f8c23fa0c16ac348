CREATE FUNCTION fs.hash_file(p_path text) RETURNS bytea
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off
    SET jit = off
AS $$
DECLARE
    v_sandbox pgbox.sandbox := pgbox.enter_read();
    v         record := pgbox.walk(v_sandbox.layers, p_path, 'follow', 'open');
    n         pgbox.inode := pgbox.inode_of(v_sandbox.layers, v.ino);
BEGIN
    IF n.kind <> pgbox.kind('file') THEN
        PERFORM pgbox.raise_errno(CASE WHEN n.kind = pgbox.kind('dir') THEN 'EISDIR' ELSE 'EINVAL' END, 'open', p_path);
    END IF;
    RETURN pgbox.file_hash(v_sandbox.layers, n.ino, n.size);
END
$$;

COMMENT ON FUNCTION fs.hash_file(text) IS
    'The content hash of a file, as in fs.files and in the journal; NULL when it has more than 64 MiB.';
