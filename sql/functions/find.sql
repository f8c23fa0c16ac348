CREATE FUNCTION fs.find(
    p_path     text DEFAULT '/',
    p_name     text DEFAULT NULL,
    p_kind     smallint DEFAULT NULL,
    p_min_size bigint DEFAULT NULL,
    p_max_size bigint DEFAULT NULL,
    p_since    bigint DEFAULT NULL,
    p_depth    integer DEFAULT NULL
) RETURNS SETOF fs.entry
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET jit = off
    SET enable_seqscan = off
    SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    v_sandbox pgbox.sandbox := pgbox.enter_read();
    v         record;
    v_regex   text := pgbox.glob_regex(p_name);
BEGIN
    v := pgbox.walk(v_sandbox.layers, p_path, 'nofollow', 'find');
    RETURN QUERY
    SELECT t.path, t.name, t.ino, t.kind, t.mode, t.uid, t.gid, t.nlink, t.rdev, t.size, t.mtime, t.ctime, t.target
      FROM pgbox.subtree(v_sandbox.layers, v.ino, v.path, p_depth) t
     WHERE (v_regex IS NULL OR t.name ~ v_regex)
       AND (p_kind IS NULL OR t.kind = p_kind)
       AND (p_min_size IS NULL OR t.size >= p_min_size)
       AND (p_max_size IS NULL OR t.size <= p_max_size)
       AND (p_since IS NULL OR t.mtime >= p_since)
     ORDER BY replace(t.path, '/', E'\x01') COLLATE "C";
END
$$;

COMMENT ON FUNCTION fs.find(text, text, smallint, bigint, bigint, bigint, integer) IS
    'Finds what is at and below a path by the shell pattern of its name, kind, size, modification time (from p_since on, in nanoseconds) and depth. NULL means any. Symlinks are not followed.';
