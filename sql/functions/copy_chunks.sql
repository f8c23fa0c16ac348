CREATE FUNCTION pgbox.copy_chunks(p_layers uuid[], p_from bigint[], p_to bigint[]) RETURNS void
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
    SET work_mem = '64MB'
    SET enable_nestloop = off
    SET jit = off
AS $$
DECLARE
    v_first bigint;
    v_last  bigint;
BEGIN
    IF cardinality(p_from) > 256 THEN
        SELECT min(u.ino), max(u.ino) INTO v_first, v_last FROM unnest(p_from) AS u (ino);
    END IF;
    -- Many files whose numbers are not far apart: their rows are read once, in the order of the index.
    IF v_last - v_first < 8 * cardinality(p_from) THEN
        INSERT INTO pgbox.chunk (layer_id, ino, idx, sha256)
        SELECT p_layers[1], x.ino_to, e.idx, e.sha256
          FROM (SELECT DISTINCT ON (c.ino, c.idx) c.ino, c.idx, c.sha256
                  FROM pgbox.chunk c
                 WHERE c.layer_id = ANY (p_layers) AND c.ino BETWEEN v_first AND v_last
                 ORDER BY c.ino, c.idx, array_position(p_layers, c.layer_id)) e
          JOIN unnest(p_from, p_to) AS x (ino_from, ino_to) ON x.ino_from = e.ino
         WHERE e.sha256 IS NOT NULL
         ORDER BY x.ino_to, e.idx
        ON CONFLICT ON CONSTRAINT chunk_pkey DO UPDATE SET sha256 = excluded.sha256;
        RETURN;
    END IF;
    INSERT INTO pgbox.chunk AS k (layer_id, ino, idx, sha256)
    SELECT p_layers[1], x.ino_to, e.idx, e.sha256
      FROM unnest(p_from, p_to) AS x (ino_from, ino_to)
     CROSS JOIN LATERAL (
           SELECT DISTINCT ON (c.idx) c.idx, c.sha256
             FROM pgbox.chunk c
            WHERE c.layer_id = ANY (p_layers) AND c.ino = x.ino_from
            ORDER BY c.idx, array_position(p_layers, c.layer_id)) e
     WHERE e.sha256 IS NOT NULL
    ON CONFLICT ON CONSTRAINT chunk_pkey DO UPDATE SET sha256 = excluded.sha256;
END
$$;

COMMENT ON FUNCTION pgbox.copy_chunks(uuid[], bigint[], bigint[]) IS
    'Gives the chunks of files to other files that have none. The blobs need no lock: the source refers to them, and the locked sandbox row keeps it from changing.';
