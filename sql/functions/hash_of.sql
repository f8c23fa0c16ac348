CREATE FUNCTION fs.hash_of(p_data bytea) RETURNS bytea
    LANGUAGE plpgsql IMMUTABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_chunks bytea;
BEGIN
    SELECT string_agg(int4send(n.idx) || sha256(substring(p_data FROM n.idx * pgbox.chunk_size() + 1 FOR pgbox.chunk_size())), '' ORDER BY n.idx) INTO v_chunks
      FROM generate_series(0, (octet_length(p_data) - 1) / pgbox.chunk_size()) AS n (idx)
     WHERE octet_length(p_data) > 0;
    RETURN pgbox.content_hash(octet_length(p_data), v_chunks);
END
$$;

COMMENT ON FUNCTION fs.hash_of(bytea) IS
    'The content hash that a file with these bytes has in fs.files and in the journal, to find who touched a content. (A file with holes has another.)';
