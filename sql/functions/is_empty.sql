CREATE FUNCTION pgbox.is_empty(p_layers uuid[], p_dir bigint) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN NOT EXISTS (
        SELECT
          FROM (SELECT DISTINCT ON (d.name) d.ino
                  FROM pgbox.dirent d
                 WHERE d.layer_id = ANY (p_layers) AND d.parent_ino = p_dir
                 ORDER BY d.name, array_position(p_layers, d.layer_id)) e
         WHERE e.ino IS NOT NULL);
END
$$;
COMMENT ON FUNCTION pgbox.is_empty(uuid[], bigint) IS 'Whether a directory has no effective name.';
