CREATE FUNCTION pgbox.write_chunks(p_layers uuid[], p_ino bigint, p_size bigint, p_offset bigint, p_data bytea) RETURNS bigint
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_end   bigint := p_offset + octet_length(p_data);
    v_first integer := p_offset / pgbox.chunk_size();
    v_last  integer := (v_end - 1) / pgbox.chunk_size();
    v_size  bigint := p_size;
    v_base  bigint;
    v_from  integer;
    v_to    integer;
    v_has   integer; -- bytes that the file has in this chunk so far
    v_piece bytea;
    v_old   bytea;
    v_batch bytea[] := '{}';
BEGIN
    IF p_offset > v_size THEN
        PERFORM pgbox.resize(p_layers, p_ino, v_size, p_offset);
        v_size := p_offset;
    END IF;
    FOR v_idx IN v_first..v_last LOOP
        v_base := v_idx * pgbox.chunk_size()::bigint;
        v_from := greatest(p_offset - v_base, 0);
        v_to := least(v_end - v_base, pgbox.chunk_size());
        v_has := greatest(least(v_size - v_base, pgbox.chunk_size()), 0);
        v_piece := substring(p_data FROM (v_base + v_from - p_offset)::integer + 1 FOR v_to - v_from);
        IF v_from > 0 OR v_to < v_has THEN
            v_old := coalesce(pgbox.chunk_at(p_layers, p_ino, v_idx), pgbox.zeros(v_has));
            v_piece := substring(v_old FROM 1 FOR v_from) || v_piece || substring(v_old FROM v_to + 1);
        END IF;
        v_batch := v_batch || v_piece;
        -- bounded, so that a large write does not hold all of its content twice
        IF cardinality(v_batch) = 64 OR v_idx = v_last THEN
            PERFORM pgbox.put_chunks(p_layers, p_ino, v_idx - cardinality(v_batch) + 1, v_batch);
            v_batch := '{}';
        END IF;
    END LOOP;
    RETURN greatest(v_size, v_end);
END
$$;

COMMENT ON FUNCTION pgbox.write_chunks(uuid[], bigint, bigint, bigint, bytea) IS
    'Writes p_data (not empty) into the chunks of a file of p_size bytes and returns its new size. Past the end it leaves a hole.';
