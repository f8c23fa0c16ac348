CREATE FUNCTION fs.resolve(p_path text, p_follow boolean DEFAULT true) RETURNS bigint
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off
    SET jit = off
    SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    v_sandbox pgbox.sandbox := pgbox.enter_read();
BEGIN
    RETURN (pgbox.walk(v_sandbox.layers, p_path, CASE WHEN p_follow THEN 'follow' ELSE 'nofollow' END, 'resolve')).ino;
END
$$;

COMMENT ON FUNCTION fs.resolve(text, boolean) IS
    'Returns the inode number of a path. p_follow says whether a symlink in the last component is followed.';
