-- Rows as arrays: a set-returning function copies every row once more than a SELECT, and 8192 rows to an array
-- make up for that. STABLE, so that all batches come from the one snapshot of the caller's statement.
CREATE FUNCTION fs.load_inodes(p_sandbox uuid, p_layer uuid) RETURNS TABLE (
    ino bigint[], kind smallint[], mode integer[], uid integer[], gid integer[], nlink integer[], rdev integer[], size bigint[], mtime bigint[], ctime bigint[], target text[]
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
BEGIN
    PERFORM pgbox.enter_layer(p_sandbox, p_layer);
    LOOP
        SELECT count(*), array_agg(i.ino),
               array_agg(i.kind),
               array_agg(i.mode),
               array_agg(i.uid),
               array_agg(i.gid),
               array_agg(i.nlink),
               array_agg(i.rdev),
               array_agg(i.size),
               array_agg(i.mtime),
               array_agg(i.ctime),
               array_agg(coalesce(i.target, ''))
          INTO v_n, ino, kind, mode, uid, gid, nlink, rdev, size, mtime, ctime, target
          FROM (SELECT r.*
                  FROM pgbox.inode r
                 WHERE r.layer_id = p_layer AND r.ino > v_ino
                 ORDER BY r.ino
                 LIMIT c_batch) i;
        EXIT WHEN v_n = 0;
        RETURN NEXT;
        EXIT WHEN v_n < c_batch;
        v_ino := ino[v_n];
    END LOOP;
END
$$;

COMMENT ON FUNCTION fs.load_inodes(uuid, uuid) IS
    'The inode rows of one layer of a sandbox in key order, as parallel arrays of up to 8192. Kind 0 is a whiteout; target is empty except for symlinks. ESTALE when the layer is not, or no longer, part of the sandbox.';
