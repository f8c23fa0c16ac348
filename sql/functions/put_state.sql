CREATE FUNCTION pgbox.put_state(p_state jsonb) RETURNS bytea
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    c_longest constant integer := 16777216;
    v_text    text := p_state::text;
    v_sha256  bytea;
BEGIN
    IF p_state IS NULL OR p_state = '{}' THEN
        RETURN NULL;
    ELSIF jsonb_typeof(p_state) <> 'object' THEN
        PERFORM pgbox.raise_errno('EINVAL', 'shell_state', jsonb_typeof(p_state));
    ELSIF octet_length(v_text) > c_longest THEN
        PERFORM pgbox.raise_errno('EFBIG', 'shell_state', octet_length(v_text)::text);
    END IF;
    v_sha256 := sha256(convert_to(v_text, 'UTF8'));
    LOOP
        -- What is there must stay: fs.gc deletes only what it can lock, and looks who has it after that.
        PERFORM FROM pgbox.shell_state t WHERE t.sha256 = v_sha256 FOR KEY SHARE;
        IF FOUND THEN
            RETURN v_sha256;
        END IF;
        INSERT INTO pgbox.shell_state (sha256, state, size) VALUES (v_sha256, p_state, octet_length(v_text))
        ON CONFLICT ON CONSTRAINT shell_state_pkey DO NOTHING;
    END LOOP;
END
$$;

COMMENT ON FUNCTION pgbox.put_state(jsonb) IS
    'Stores a shell state and returns its hash; NULL for an empty one. EINVAL when it is not an object, EFBIG when it has more than 16 MiB.';
