CREATE FUNCTION pgbox.content_hash(p_size bigint, p_chunks bytea) RETURNS bytea
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN p_size = 0 THEN sha256('')
                WHEN p_size <= pgbox.chunk_size() AND p_chunks IS NOT NULL THEN substring(p_chunks FROM 5)
                ELSE sha256(int8send(p_size) || coalesce(p_chunks, '')) END
$$;

COMMENT ON FUNCTION pgbox.content_hash(bigint, bytea) IS
    'The content hash of a regular file. For one chunk (at most 65536 bytes) it is the SHA-256 of its bytes. For more, it is the SHA-256 of its size (8 bytes, big-endian) and, for each chunk that is not a hole, its number (4 bytes) and the SHA-256 of its bytes. p_chunks is that list of numbers and hashes.';
