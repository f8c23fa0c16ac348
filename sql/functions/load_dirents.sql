-- Rows as arrays: a set-returning function copies every row once more than a SELECT, and 8192 rows to an array
-- make up for that. STABLE, so that all batches come from the one snapshot of the caller's statement.
CREATE FUNCTION fs.load_dirents(p_sandbox uuid, p_layer uuid) RETURNS TABLE (
    parent_ino bigint[], name text[], ino bigint[]
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
    v_parent_ino    bigint := 0;
    v_name    text := '';
BEGIN
    PERFORM pgbox.enter_layer(p_sandbox, p_layer);
    LOOP
        SELECT count(*), array_agg(i.parent_ino),
               array_agg(i.name),
               array_agg(coalesce(i.ino, 0))
          INTO v_n, parent_ino, name, ino
          FROM (SELECT r.*
                  FROM pgbox.dirent r
                 WHERE r.layer_id = p_layer AND (r.parent_ino, r.name) > (v_parent_ino, v_name)
                 ORDER BY r.parent_ino, r.name
                 LIMIT c_batch) i;
        EXIT WHEN v_n = 0;
        RETURN NEXT;
        EXIT WHEN v_n < c_batch;
        v_parent_ino := parent_ino[v_n];
        v_name := name[v_n];
    END LOOP;
END
$$;

COMMENT ON FUNCTION fs.load_dirents(uuid, uuid) IS
    'The dirents of one layer of a sandbox in key order, as parallel arrays of up to 8192. Inode 0 is a whiteout. ESTALE when the layer is not, or no longer, part of the sandbox.';
