CREATE FUNCTION pgbox.forget(p_layers uuid[], p_inos bigint[]) RETURNS void
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- Each inode is looked up by itself (OFFSET 0 keeps it so): a join may read the whole layer.
    PERFORM pgbox.delete_rows(
        ARRAY(SELECT k.ctid FROM unnest(p_inos) AS u (ino)
               CROSS JOIN LATERAL (SELECT e.ctid FROM pgbox.inode e WHERE e.layer_id = p_layers[1] AND e.ino = u.ino OFFSET 0) k),
        ARRAY(SELECT k.ctid FROM unnest(p_inos) AS u (ino)
               CROSS JOIN LATERAL (SELECT e.ctid FROM pgbox.chunk e WHERE e.layer_id = p_layers[1] AND e.ino = u.ino OFFSET 0) k),
        NULL);
    IF cardinality(p_layers) > 1 THEN
        INSERT INTO pgbox.inode (layer_id, ino, kind, mode, uid, gid, nlink, mtime, ctime)
        SELECT p_layers[1], u.ino, 0, 0, 0, 0, 0, 0, 0
          FROM unnest(p_inos) AS u (ino)
         CROSS JOIN LATERAL (
               SELECT e.kind FROM pgbox.inode e
                WHERE e.layer_id = ANY (p_layers[2:]) AND e.ino = u.ino
                ORDER BY array_position(p_layers, e.layer_id)
                LIMIT 1) l
         WHERE l.kind <> pgbox.kind('whiteout');
    END IF;
END
$$;

COMMENT ON FUNCTION pgbox.forget(uuid[], bigint[]) IS
    'Removes inodes without a name left, and their chunks. An inode of a lower layer gets a whiteout, which hides its chunks too.';
