CREATE FUNCTION fs.realpath(p_path text) RETURNS text
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off
    SET jit = off
    SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    v_sandbox pgbox.sandbox := pgbox.enter_read();
BEGIN
    RETURN (pgbox.walk(v_sandbox.layers, p_path, 'follow', 'realpath')).path;
END
$$;

COMMENT ON FUNCTION fs.realpath(text) IS
    'Returns the canonical path of an existing file: absolute, without symlinks, "." and "..".';
