CREATE FUNCTION pgbox.forget(p_layers uuid[], p_inos bigint[]) RETURNS void
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_ino bigint;
BEGIN
    -- One by one: a new top layer is not in the statistics, so with "ino = ANY (...)", a join or row addresses the planner takes it for
    -- one row and may read all of it, for each inode. Most inodes of a fork are in lower layers only; OFFSET 0 keeps the look-up one.
    FOR v_ino IN
        SELECT u.ino FROM unnest(p_inos) AS u (ino)
         WHERE EXISTS (SELECT FROM pgbox.inode e WHERE e.layer_id = p_layers[1] AND e.ino = u.ino OFFSET 0)
            OR EXISTS (SELECT FROM pgbox.chunk e WHERE e.layer_id = p_layers[1] AND e.ino = u.ino OFFSET 0)
    LOOP
        DELETE FROM pgbox.chunk c WHERE c.layer_id = p_layers[1] AND c.ino = v_ino;
        DELETE FROM pgbox.inode n WHERE n.layer_id = p_layers[1] AND n.ino = v_ino;
    END LOOP;
    IF cardinality(p_layers) > 1 THEN
        INSERT INTO pgbox.inode (layer_id, ino, kind, mode, uid, gid, nlink, mtime, ctime)
        SELECT p_layers[1], u.ino, 0, 0, 0, 0, 0, 0, 0
          FROM unnest(p_inos) AS u (ino)
         CROSS JOIN LATERAL (
               SELECT e.kind FROM pgbox.inode e
                WHERE e.layer_id = ANY (p_layers[2:]) AND e.ino = u.ino
                ORDER BY array_position(p_layers, e.layer_id)
                LIMIT 1) l
         WHERE l.kind <> 0;
    END IF;
END
$$;

COMMENT ON FUNCTION pgbox.forget(uuid[], bigint[]) IS
    'Removes inodes that have no name left, with their chunks; those of lower layers get a whiteout, which hides their chunks too.';
