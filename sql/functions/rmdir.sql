CREATE FUNCTION fs.rmdir(p_path text) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET jit = off
    SET enable_seqscan = off
    SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    PERFORM pgbox.remove(p_path, 'rmdir', true, false, false);
END
$$;

COMMENT ON FUNCTION fs.rmdir(text) IS
    'Removes an empty directory.';
