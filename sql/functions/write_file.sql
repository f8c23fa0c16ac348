CREATE FUNCTION fs.write_file(p_path text, p_data bytea, p_mode integer DEFAULT 420) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off
    SET jit = off
    SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    RETURN pgbox.write(pgbox.enter(true), 'write', p_path, p_data, NULL, coalesce(p_mode, 420));
END
$$;

COMMENT ON FUNCTION fs.write_file(text, bytea, integer) IS
    'Creates a file with the content p_data, or replaces the content of an existing one, which keeps its inode and mode. Returns the inode number.';
