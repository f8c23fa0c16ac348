CREATE FUNCTION fs.lstat(p_path text) RETURNS SETOF fs.entry
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
    v := pgbox.walk(v_sandbox.layers, p_path, 'nofollow', 'lstat');
    n := pgbox.inode_of(v_sandbox.layers, v.ino);
    RETURN QUERY
    SELECT v.path, regexp_replace(v.path, '^.*/', ''), n.ino, n.kind, n.mode, n.uid, n.gid, n.nlink, n.rdev,
           CASE n.kind WHEN pgbox.kind('symlink') THEN octet_length(n.target) ELSE n.size END, n.mtime, n.ctime, n.target;
END
$$;

COMMENT ON FUNCTION fs.lstat(text) IS
    'As fs.stat(), but a symlink in the last component is not followed.';
