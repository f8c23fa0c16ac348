CREATE FUNCTION pgbox.forget_names(p_layers uuid[], p_parent bigint[], p_name text[]) RETURNS void
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM pgbox.delete_rows(NULL, NULL,
        ARRAY(SELECT k.ctid FROM unnest(p_parent, p_name) AS u (parent, name)
               CROSS JOIN LATERAL (
                     SELECT e.ctid FROM pgbox.dirent e
                      WHERE e.layer_id = p_layers[1] AND e.parent_ino = u.parent AND e.name = u.name COLLATE "C"
                     OFFSET 0) k));
    IF cardinality(p_layers) > 1 THEN
        INSERT INTO pgbox.dirent (layer_id, parent_ino, name, ino)
        SELECT p_layers[1], u.parent, u.name, NULL
          FROM unnest(p_parent, p_name) AS u (parent, name)
         CROSS JOIN LATERAL (
               SELECT e.ino FROM pgbox.dirent e
                WHERE e.layer_id = ANY (p_layers[2:]) AND e.parent_ino = u.parent AND e.name = u.name COLLATE "C"
                ORDER BY array_position(p_layers, e.layer_id)
                LIMIT 1) l
         WHERE l.ino IS NOT NULL;
    END IF;
END
$$;

COMMENT ON FUNCTION pgbox.forget_names(uuid[], bigint[], text[]) IS
    'Removes dirents, given as pairs of directory and name. A name of a lower layer gets a whiteout.';
