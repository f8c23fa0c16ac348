CREATE FUNCTION pgbox.put_content(p_data bytea[], p_old bytea[]) RETURNS bytea[]
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_sha bytea[];
    v_distinct integer;
    v_held integer;
BEGIN
    SELECT array_agg(sha256(d.data) ORDER BY d.n), count(DISTINCT sha256(d.data))
      INTO v_sha, v_distinct
      FROM unnest(p_data) WITH ORDINALITY AS d (data, n);
    -- A row that was there already may be garbage that gc is deleting right now: the insert saw it, the lock
    -- then finds nothing, and the content is inserted again. In the order of the key, against deadlocks.
    LOOP
        INSERT INTO pgbox.blob (sha256, size, base, data)
        SELECT DISTINCT ON (b.sha) b.sha, octet_length(b.data), t.base, t.p_data
          FROM unnest(v_sha, p_data, p_old) AS b (sha, data, old)
         CROSS JOIN LATERAL pgbox.tail_of(b.old, b.data) t
         ORDER BY b.sha
        ON CONFLICT ON CONSTRAINT blob_pkey DO NOTHING;
        SELECT count(*) INTO v_held
          FROM (SELECT b.sha256 FROM pgbox.blob b WHERE b.sha256 = ANY (v_sha) ORDER BY b.sha256 FOR KEY SHARE) l;
        EXIT WHEN v_held = v_distinct;
    END LOOP;
    RETURN v_sha;
END
$$;

COMMENT ON FUNCTION pgbox.put_content(bytea[], bytea[]) IS
    'Stores contents of 1 to 65536 bytes, each once for all sandboxes, and returns their hashes in the same order. p_old are the contents that they replace (pgbox.tail_of), NULL where there is none. The rows stay locked FOR KEY SHARE until the transaction ends, so that gc cannot delete what is being adopted.';
