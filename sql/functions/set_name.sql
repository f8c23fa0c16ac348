CREATE FUNCTION pgbox.set_name(p_layers uuid[], p_dir bigint, p_name text, p_ino bigint) RETURNS void
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF p_ino IS NULL AND pgbox.lookup(p_layers[2:], p_dir, p_name) IS NULL THEN
        DELETE FROM pgbox.dirent d
         WHERE d.layer_id = p_layers[1] AND d.parent_ino = p_dir AND d.name = p_name COLLATE "C";
    ELSE
        INSERT INTO pgbox.dirent AS d (layer_id, parent_ino, name, ino)
        VALUES (p_layers[1], p_dir, p_name, p_ino)
        ON CONFLICT ON CONSTRAINT dirent_pkey DO UPDATE SET ino = excluded.ino;
    END IF;
END
$$;

COMMENT ON FUNCTION pgbox.set_name(uuid[], bigint, text, bigint) IS
    'Makes a name in a directory refer to an inode. NULL removes the name, with a whiteout when a lower layer has it.';
