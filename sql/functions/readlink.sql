CREATE FUNCTION fs.readlink(p_path text) RETURNS text
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off
    SET jit = off
    SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    v_sandbox pgbox.sandbox := pgbox.enter_read();
    v         record;
BEGIN
    v := pgbox.walk(v_sandbox.layers, p_path, 'nofollow', 'readlink');
    IF v.kind <> pgbox.kind('symlink') THEN
        PERFORM pgbox.raise_errno('EINVAL', 'readlink', p_path);
    END IF;
    RETURN v.target;
END
$$;

COMMENT ON FUNCTION fs.readlink(text) IS
    'Returns the target of a symlink. EINVAL for anything else.';
