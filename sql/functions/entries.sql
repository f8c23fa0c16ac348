CREATE FUNCTION pgbox.entries(p_layers uuid[], p_dir bigint) RETURNS TABLE (name text, ino bigint)
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT e.name, e.ino
      FROM (SELECT DISTINCT ON (d.name) d.name, d.ino
              FROM pgbox.dirent d
             WHERE d.layer_id = ANY (p_layers) AND d.parent_ino = p_dir
             ORDER BY d.name, array_position(p_layers, d.layer_id)) e
     WHERE e.ino IS NOT NULL;
END
$$;
COMMENT ON FUNCTION pgbox.entries(uuid[], bigint) IS 'The effective names of one directory in byte order.';
