CREATE FUNCTION fs.read_blobs(p_sandbox uuid, p_sha256 bytea[]) RETURNS TABLE (sha256 bytea, data bytea)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET work_mem = '64MB'
    SET enable_seqscan = off
    SET jit = off
AS $$
BEGIN
    PERFORM pgbox.enter_sandbox_read(p_sandbox);
    RETURN QUERY SELECT b.sha256, CASE WHEN b.base IS NULL THEN b.data ELSE pgbox.whole(b.base, b.data) END FROM pgbox.blob b WHERE b.sha256 = ANY (p_sha256);
END
$$;

COMMENT ON FUNCTION fs.read_blobs(uuid, bytea[]) IS
    'The contents with the given hashes, in any order. A hash that the database has no content for has no row.';
