CREATE FUNCTION pgbox.forget(p_layers uuid[], p_inos bigint[]) RETURNS void
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    DELETE FROM pgbox.chunk c WHERE c.layer_id = p_layers[1] AND c.ino = ANY (p_inos);
    DELETE FROM pgbox.inode n WHERE n.layer_id = p_layers[1] AND n.ino = ANY (p_inos);
    IF cardinality(p_layers) > 1 THEN
        INSERT INTO pgbox.inode (layer_id, ino, kind, mode, uid, gid, nlink, mtime, ctime)
        SELECT p_layers[1], l.ino, 0, 0, 0, 0, 0, 0, 0
          FROM (SELECT DISTINCT ON (n.ino) n.ino, n.kind
                  FROM pgbox.inode n
                 WHERE n.layer_id = ANY (p_layers[2:]) AND n.ino = ANY (p_inos)
                 ORDER BY n.ino, array_position(p_layers, n.layer_id)) l
         WHERE l.kind <> 0;
    END IF;
END
$$;

COMMENT ON FUNCTION pgbox.forget(uuid[], bigint[]) IS
    'Removes inodes that have no name left, with their chunks; those of lower layers get a whiteout, which hides their chunks too.';
