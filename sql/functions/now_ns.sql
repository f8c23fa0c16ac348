CREATE FUNCTION pgbox.now_ns() RETURNS bigint
    LANGUAGE sql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $$
    SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 1000
$$;
COMMENT ON FUNCTION pgbox.now_ns() IS 'The wall clock in nanoseconds since the epoch, the unit of inode times.';
