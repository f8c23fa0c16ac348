CREATE FUNCTION fs.write_at(p_path text, p_data bytea, p_offset bigint) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off
    SET jit = off
    SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    PERFORM pgbox.write(pgbox.enter(true), 'write_at', p_path, p_data, p_offset, NULL);
END
$$;

COMMENT ON FUNCTION fs.write_at(text, bytea, bigint) IS
    'Overwrites an existing file from an offset on, as pwrite(2) does. The rest stays as it is; writing past the end leaves a hole.';
