-- Rows as arrays: a set-returning function copies every row once more than a SELECT, and 8192 rows to an array
-- make up for that. STABLE, so that all batches come from the one snapshot of the caller's statement.
CREATE FUNCTION fs.load_chunks(p_sandbox uuid, p_layer uuid) RETURNS TABLE (
    ino bigint[], idx integer[], sha256 bytea[]
)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET work_mem = '64MB'
    SET enable_seqscan = off
    SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    c_batch constant integer := 8192;
    v_n     integer;
    v_ino    bigint := 0;
    v_idx    integer := -1;
BEGIN
    PERFORM pgbox.enter_layer(p_sandbox, p_layer);
    LOOP
        SELECT count(*), array_agg(i.ino),
               array_agg(i.idx),
               array_agg(i.sha256)
          INTO v_n, ino, idx, sha256
          FROM (SELECT r.*
                  FROM pgbox.chunk r
                 WHERE r.layer_id = p_layer AND (r.ino, r.idx) > (v_ino, v_idx)
                 ORDER BY r.ino, r.idx
                 LIMIT c_batch) i;
        EXIT WHEN v_n = 0;
        RETURN NEXT;
        EXIT WHEN v_n < c_batch;
        v_ino := ino[v_n];
        v_idx := idx[v_n];
    END LOOP;
END
$$;

COMMENT ON FUNCTION fs.load_chunks(uuid, uuid) IS
    'The chunk rows of one layer of a sandbox in key order, as parallel arrays of up to 8192. A NULL hash is a hole. ESTALE when the layer is not, or no longer, part of the sandbox.';
