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
        PERFORM pgbox.cut_chunks(p_layers, p_ino, ((p_new + 65535) / 65536)::integer);
        v_len := p_new % 65536;
        IF v_len = 0 THEN
            RETURN;
        END IF;
        v_idx := p_new / 65536;
    ELSE
        IF p_new = p_old OR p_old % 65536 = 0 THEN
            RETURN;
        END IF;
        v_idx := p_old / 65536;
        v_len := least(65536, p_new - v_idx * 65536::bigint);
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
