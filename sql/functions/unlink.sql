CREATE FUNCTION fs.unlink(p_path text) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET jit = off
    SET enable_seqscan = off
    SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    PERFORM pgbox.remove(p_path, 'unlink', false, true, false);
END
$$;

COMMENT ON FUNCTION fs.unlink(text) IS
    'Removes a name of a file that is not a directory.';
