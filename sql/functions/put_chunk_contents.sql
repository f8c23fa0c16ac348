CREATE FUNCTION pgbox.put_chunk_contents(p_layers uuid[], p_ino bigint[], p_idx integer[], p_sha256 bytea[], p_data bytea[]) RETURNS bytea[]
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_new bytea[];
BEGIN
    -- What few contents replace is looked up, because it may be what they begin with; many at once are an import.
    IF cardinality(p_data) <= 16 AND cardinality(p_ino) <= 256 THEN
        WITH new AS (
            INSERT INTO pgbox.blob (sha256, size, base, data)
            SELECT DISTINCT ON (d.sha256) d.sha256, d.size, t.base, t.p_data
              FROM (SELECT sha256(u.data) AS sha256, octet_length(u.data) AS size, u.data FROM unnest(p_data) AS u (data)) d
              LEFT JOIN unnest(p_ino, p_idx, p_sha256) AS c (ino, idx, sha256) ON c.sha256 = d.sha256
              LEFT JOIN LATERAL (SELECT k.sha256 FROM pgbox.chunk k
                                  WHERE k.layer_id = ANY (p_layers) AND k.ino = c.ino AND k.idx = c.idx
                                  ORDER BY array_position(p_layers, k.layer_id) LIMIT 1) o ON d.size >= 2048
             CROSS JOIN LATERAL pgbox.tail_of(o.sha256, d.data) t
             ORDER BY d.sha256
            ON CONFLICT ON CONSTRAINT blob_pkey DO NOTHING
            RETURNING sha256
        )
        SELECT array_agg(n.sha256) INTO v_new FROM new n;
    ELSE
        WITH new AS (
            INSERT INTO pgbox.blob (sha256, size, data)
            SELECT d.sha256, octet_length(d.data), d.data
              FROM (SELECT sha256(u.data) AS sha256, u.data FROM unnest(p_data) AS u (data)) d
             ORDER BY d.sha256
            ON CONFLICT ON CONSTRAINT blob_pkey DO NOTHING
            RETURNING sha256
        )
        SELECT array_agg(n.sha256) INTO v_new FROM new n;
    END IF;
    RETURN v_new;
END
$$;

COMMENT ON FUNCTION pgbox.put_chunk_contents(uuid[], bigint[], integer[], bytea[], bytea[]) IS
    'Stores the contents p_data, which the chunks p_ino, p_idx are about to refer to by the hashes p_sha256, and returns the hashes of those that were new (NULL: none). Nothing is updated: that would lock a popular row, and sandboxes that have nothing in common would wait for each other.';
