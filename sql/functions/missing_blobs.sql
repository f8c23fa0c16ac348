CREATE FUNCTION fs.missing_blobs(p_sandbox uuid, p_sha256 bytea[]) RETURNS SETOF bytea
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off
    SET jit = off
AS $$
BEGIN
    PERFORM pgbox.enter_sandbox_read(p_sandbox);
    RETURN QUERY
    SELECT DISTINCT w.sha256
      FROM unnest(p_sha256) AS w (sha256)
     WHERE NOT EXISTS (SELECT FROM pgbox.blob b WHERE b.sha256 = w.sha256);
END
$$;

COMMENT ON FUNCTION fs.missing_blobs(uuid, bytea[]) IS
    'Which of the given hashes the database has no content for: what to send with fs.put_blobs before fs.apply.';
