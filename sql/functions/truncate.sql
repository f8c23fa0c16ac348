CREATE FUNCTION fs.truncate(p_path text, p_size bigint) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off
    SET jit = off
    SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    PERFORM pgbox.write(pgbox.enter(true), 'truncate', p_path, NULL, p_size, NULL);
END
$$;

COMMENT ON FUNCTION fs.truncate(text, bigint) IS
    'Sets the size of a regular file. What it grows by is a hole.';
