CREATE FUNCTION pgbox.whole(p_base bytea, p_tail bytea) RETURNS bytea
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_base bytea := p_base;
    v_data bytea;
BEGIN
    WHILE v_base IS NOT NULL LOOP
        SELECT b.base, b.data INTO v_base, v_data FROM pgbox.blob b WHERE b.sha256 = v_base;
        IF NOT FOUND THEN
            RETURN NULL;
        END IF;
        p_tail := v_data || p_tail;
    END LOOP;
    RETURN p_tail;
END
$$;

COMMENT ON FUNCTION pgbox.whole(bytea, bytea) IS
    'The bytes of a content, from base and data of its row; NULL when a base is missing.';
