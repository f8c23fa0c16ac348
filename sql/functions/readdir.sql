CREATE FUNCTION fs.readdir(p_path text) RETURNS SETOF fs.entry
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET jit = off
    SET enable_seqscan = off
    SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    v_sandbox pgbox.sandbox := pgbox.enter_read();
    v         record;
BEGIN
    v := pgbox.walk(v_sandbox.layers, p_path, 'follow', 'readdir');
    IF v.kind <> pgbox.kind('dir') THEN
        PERFORM pgbox.raise_errno('ENOTDIR', 'readdir', p_path);
    END IF;
    RETURN QUERY
    SELECT t.path, t.name, t.ino, t.kind, t.mode, t.uid, t.gid, t.nlink, t.rdev, t.size, t.mtime, t.ctime, t.target
      FROM pgbox.subtree(v_sandbox.layers, v.ino, v.path, 1) t
     WHERE t.depth = 1
     ORDER BY t.name COLLATE "C";
END
$$;

COMMENT ON FUNCTION fs.readdir(text) IS
    'Lists a directory in byte order of names, without "." and "..". A symlink to a directory is followed.';
