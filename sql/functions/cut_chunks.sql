CREATE FUNCTION pgbox.cut_chunks(p_layers uuid[], p_ino bigint, p_from integer) RETURNS void
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    DELETE FROM pgbox.chunk c WHERE c.layer_id = p_layers[1] AND c.ino = p_ino AND c.idx >= p_from;
    IF cardinality(p_layers) > 1 THEN
        INSERT INTO pgbox.chunk (layer_id, ino, idx, sha256)
        SELECT p_layers[1], p_ino, l.idx, NULL
          FROM (SELECT DISTINCT ON (c.idx) c.idx, c.sha256
                  FROM pgbox.chunk c
                 WHERE c.layer_id = ANY (p_layers[2:]) AND c.ino = p_ino AND c.idx >= p_from
                 ORDER BY c.idx, array_position(p_layers, c.layer_id)) l
         WHERE l.sha256 IS NOT NULL;
    END IF;
END
$$;

COMMENT ON FUNCTION pgbox.cut_chunks(uuid[], bigint, integer) IS
    'Makes holes of all chunks of a file from p_from on.';
