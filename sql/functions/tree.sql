CREATE FUNCTION fs.tree(p_path text DEFAULT '/', p_depth integer DEFAULT NULL) RETURNS SETOF fs.entry
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
    v := pgbox.walk(v_sandbox.layers, p_path, 'follow', 'tree');
    IF v.kind <> pgbox.kind('dir') THEN
        PERFORM pgbox.raise_errno('ENOTDIR', 'tree', p_path);
    END IF;
    RETURN QUERY
    SELECT t.path, t.name, t.ino, t.kind, t.mode, t.uid, t.gid, t.nlink, t.rdev, t.size, t.mtime, t.ctime, t.target
      FROM pgbox.subtree(v_sandbox.layers, v.ino, v.path, p_depth) t
     WHERE t.depth > 0
     -- a directory comes right before what is in it
     ORDER BY replace(t.path, '/', E'\x01') COLLATE "C";
END
$$;

COMMENT ON FUNCTION fs.tree(text, integer) IS
    'Lists everything below a directory, p_depth levels deep (NULL: all), each directory followed by its content.';
