CREATE FUNCTION fs.append_file(p_path text, p_data bytea, p_mode integer DEFAULT 420) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off
    SET jit = off
    SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    RETURN pgbox.write(pgbox.enter(true), 'append', p_path, p_data, NULL, coalesce(p_mode, 420));
END
$$;

COMMENT ON FUNCTION fs.append_file(text, bytea, integer) IS
    'Appends to a file, and creates it when it is missing; only its last chunk is rewritten. Returns the inode number.';
