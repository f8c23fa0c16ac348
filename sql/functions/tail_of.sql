-- Each tail is at least twice as long as the next one on it, so a content is in 17 pieces at most, and n appends to it store n log n of them.
CREATE FUNCTION pgbox.tail_of(p_old bytea, INOUT p_data bytea, OUT base bytea)
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_size  integer; -- of base
    v_below bytea;   -- what base is based on itself
    v_next  bytea;
    v_cut   integer;
BEGIN
    -- A short one is stored in its row, whole.
    IF p_old IS NULL OR octet_length(p_data) < 2048 THEN
        RETURN;
    END IF;
    SELECT b.size, b.base INTO v_size, v_below FROM pgbox.blob b WHERE b.sha256 = p_old;
    IF v_size IS NULL OR v_size >= octet_length(p_data) OR sha256(substring(p_data FOR v_size)) <> p_old THEN
        RETURN;
    END IF;
    base := p_old;
    LOOP
        v_next := NULL;
        v_cut := 0;
        IF v_below IS NOT NULL THEN
            SELECT b.size, b.base INTO v_cut, v_next FROM pgbox.blob b WHERE b.sha256 = v_below;
        END IF;
        EXIT WHEN v_size - v_cut >= 2 * (octet_length(p_data) - v_size);
        base := v_below;
        v_size := v_cut;
        v_below := v_next;
        EXIT WHEN base IS NULL;
    END LOOP;
    p_data := substring(p_data FROM v_size + 1);
END
$$;

COMMENT ON FUNCTION pgbox.tail_of(bytea, bytea) IS
    'How a content that replaces p_old is stored. When it begins with p_old: as base and what follows it; otherwise base is NULL and it is stored whole. The base needs no lock: p_old, which a chunk of a locked sandbox refers to, is the base or is based on it.';
