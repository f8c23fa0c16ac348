CREATE FUNCTION fs.chmod(p_path text, p_mode integer) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off
    SET jit = off
    SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    PERFORM pgbox.set_attr('chmod', p_path, true, p_mode, NULL, NULL, NULL);
END
$$;

COMMENT ON FUNCTION fs.chmod(text, integer) IS
    'Sets the permission bits, with setuid, setgid and sticky, following symlinks.';
