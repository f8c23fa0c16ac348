CREATE FUNCTION fs.put_blobs(p_sandbox uuid, p_data bytea[]) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_new bytea[];
BEGIN
    PERFORM pgbox.enter_sandbox_read(p_sandbox);
    PERFORM pgbox.need((SELECT bool_and(coalesce(octet_length(d.data) BETWEEN 1 AND pgbox.chunk_size(), false)) FROM unnest(p_data) AS d (data)) IS NOT FALSE,
                       'put_blobs', 'p_data');
    -- In the order of hashes, so that two uploads of the same contents wait for each other one way round only.
    WITH new AS (
        INSERT INTO pgbox.blob (sha256, size, data)
        SELECT b.sha256, octet_length(b.data), b.data
          FROM (SELECT sha256(d.data) AS sha256, d.data FROM unnest(p_data) AS d (data)) b
         ORDER BY b.sha256
        ON CONFLICT ON CONSTRAINT blob_pkey DO NOTHING
        RETURNING sha256
    )
    SELECT array_agg(n.sha256) INTO v_new FROM new n;
    PERFORM pgbox.let_go(v_new);
    RETURN coalesce(cardinality(v_new), 0);
END
$$;

COMMENT ON FUNCTION fs.put_blobs(uuid, bytea[]) IS
    'Stores contents under their SHA-256 and returns how many were new. Nothing refers to them until fs.apply does; fs.gc removes those that are never used.';
