CREATE FUNCTION pgbox.lookup(p_layers uuid[], p_dir bigint, p_name text) RETURNS bigint
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_ino bigint;
BEGIN
    SELECT d.ino INTO v_ino
      FROM pgbox.dirent d
     WHERE d.layer_id = ANY (p_layers) AND d.parent_ino = p_dir AND d.name = p_name COLLATE "C"
     ORDER BY array_position(p_layers, d.layer_id)
     LIMIT 1;
    RETURN v_ino;
END
$$;
COMMENT ON FUNCTION pgbox.lookup(uuid[], bigint, text) IS 'The inode that a name in a directory refers to; NULL when the directory has no such name.';
