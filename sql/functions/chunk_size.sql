CREATE FUNCTION pgbox.chunk_size() RETURNS integer
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN 65536;
END
$$;

COMMENT ON FUNCTION pgbox.chunk_size() IS
    'The bytes of a chunk; the last one of a file has what is left. The planner replaces the call by the number.';
