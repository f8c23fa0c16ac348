CREATE FUNCTION fs.rm(p_path text, p_recursive boolean DEFAULT false) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET jit = off
    SET enable_seqscan = off
    SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    PERFORM pgbox.remove(p_path, 'remove', true, true, coalesce(p_recursive, false));
END
$$;

COMMENT ON FUNCTION fs.rm(text, boolean) IS
    'Removes a file or an empty directory; with p_recursive a directory and everything below it.';
