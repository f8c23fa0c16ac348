-- Every chunk with content but the last has 65536 bytes and the last ends with the file, so only the chunk
-- at the old or the new end has to be rewritten.
CREATE FUNCTION pgbox.resize(p_layers uuid[], p_ino bigint, p_old bigint, p_new bigint) RETURNS void
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_idx  integer;
    v_data bytea;
    v_len  integer;
BEGIN
    IF p_new < p_old THEN
        PERFORM pgbox.cut_chunks(p_layers, p_ino, ((p_new + pgbox.chunk_size() - 1) / pgbox.chunk_size())::integer);
        v_len := p_new % pgbox.chunk_size();
        IF v_len = 0 THEN
            RETURN;
        END IF;
        v_idx := p_new / pgbox.chunk_size();
    ELSE
        IF p_new = p_old OR p_old % pgbox.chunk_size() = 0 THEN
            RETURN;
        END IF;
        v_idx := p_old / pgbox.chunk_size();
        v_len := least(pgbox.chunk_size(), p_new - v_idx * pgbox.chunk_size()::bigint);
    END IF;
    v_data := pgbox.chunk_at(p_layers, p_ino, v_idx);
    IF v_data IS NULL THEN
        RETURN;
    END IF;
    IF octet_length(v_data) < v_len THEN
        v_data := v_data || pgbox.zeros(v_len - octet_length(v_data));
    ELSE
        v_data := substring(v_data FROM 1 FOR v_len);
    END IF;
    PERFORM pgbox.put_chunks(p_layers, p_ino, v_idx, ARRAY[v_data]);
END
$$;

COMMENT ON FUNCTION pgbox.resize(uuid[], bigint, bigint, bigint) IS
    'Fits the chunks of a file to a new size. What it grows by is a hole.';
