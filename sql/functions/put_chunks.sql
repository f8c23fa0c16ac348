CREATE FUNCTION pgbox.put_chunks(p_layers uuid[], p_ino bigint, p_first integer, p_data bytea[]) RETURNS void
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_sha bytea[];
BEGIN
    IF cardinality(p_data) = 0 THEN
        RETURN;
    END IF;
    v_sha := pgbox.put_content(p_data, ARRAY(
        SELECT CASE WHEN cardinality(p_data) <= 2 THEN (SELECT k.sha256 FROM pgbox.chunk k
                WHERE k.layer_id = ANY (p_layers) AND k.ino = p_ino AND k.idx = p_first + g.n
                ORDER BY array_position(p_layers, k.layer_id) LIMIT 1) END
          FROM generate_series(0, cardinality(p_data) - 1) AS g (n) ORDER BY g.n));
    INSERT INTO pgbox.chunk AS c (layer_id, ino, idx, sha256)
    SELECT p_layers[1], p_ino, p_first + s.n::integer - 1, s.sha
      FROM unnest(v_sha) WITH ORDINALITY AS s (sha, n)
    ON CONFLICT ON CONSTRAINT chunk_pkey DO UPDATE SET sha256 = excluded.sha256;
END
$$;

COMMENT ON FUNCTION pgbox.put_chunks(uuid[], bigint, integer, bytea[]) IS
    'Sets consecutive chunks of a file from p_first on.';
