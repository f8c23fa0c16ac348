CREATE FUNCTION pgbox.kind(p_name text) RETURNS smallint
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN CASE p_name WHEN 'whiteout' THEN 0 WHEN 'fifo' THEN 1 WHEN 'char' THEN 2 WHEN 'dir' THEN 4 WHEN 'file' THEN 8 WHEN 'symlink' THEN 10 END;
END
$$;

COMMENT ON FUNCTION pgbox.kind(text) IS
    'The number of a kind of inode, as d_type in readdir(3): whiteout, fifo, char, dir, file or symlink. The planner replaces the call by the number.';
