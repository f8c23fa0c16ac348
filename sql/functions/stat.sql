CREATE FUNCTION fs.stat(p_path text) RETURNS SETOF fs.entry
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
    v := pgbox.walk(v_sandbox.layers, p_path, 'follow', 'stat');
    n := pgbox.inode_of(v_sandbox.layers, v.ino);
    RETURN QUERY
    SELECT v.path, regexp_replace(v.path, '^.*/', ''), n.ino, n.kind, n.mode, n.uid, n.gid, n.nlink, n.rdev,
           CASE n.kind WHEN pgbox.kind('symlink') THEN octet_length(n.target) ELSE n.size END, n.mtime, n.ctime, n.target;
END
$$;

COMMENT ON FUNCTION fs.stat(text) IS
    'Describes the file that a path names, following symlinks: one row, path is the canonical path.';
