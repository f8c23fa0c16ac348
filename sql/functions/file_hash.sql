CREATE FUNCTION pgbox.file_hash(p_layers uuid[], p_ino bigint, p_size bigint) RETURNS bytea
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_chunks bytea;
BEGIN
    -- A byte written to a large file must not cost a pass over all of its chunks.
    IF p_size > 67108864 THEN
        RETURN NULL;
    END IF;
    IF p_size > 0 THEN
        SELECT string_agg(int4send(e.idx) || e.sha256, '' ORDER BY e.idx) INTO v_chunks
          FROM (SELECT DISTINCT ON (c.idx) c.idx, c.sha256
                  FROM pgbox.chunk c
                 WHERE c.layer_id = ANY (p_layers) AND c.ino = p_ino
                 ORDER BY c.idx, array_position(p_layers, c.layer_id)) e
         WHERE e.sha256 IS NOT NULL;
    END IF;
    RETURN pgbox.content_hash(p_size, v_chunks);
END
$$;

COMMENT ON FUNCTION pgbox.file_hash(uuid[], bigint, bigint) IS
    'The content hash of a regular file of p_size bytes; NULL when it has more than 64 MiB.';
