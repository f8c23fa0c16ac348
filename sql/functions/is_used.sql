CREATE FUNCTION pgbox.is_used(p_sha256 bytea) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off
    SET jit = off
AS $$
BEGIN
    RETURN EXISTS (SELECT FROM pgbox.chunk c WHERE c.sha256 = p_sha256)
        OR EXISTS (SELECT FROM pgbox.blob t WHERE t.base = p_sha256);
END
$$;

ALTER FUNCTION pgbox.is_used(bytea) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION pgbox.is_used(bytea) IS
    'Whether a chunk refers to a content, or another content is based on it.';
