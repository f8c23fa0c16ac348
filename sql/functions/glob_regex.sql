CREATE FUNCTION pgbox.glob_regex(p_glob text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_out  text := '';
    v_i    integer := 1;
    v_end  integer;
    v_c    text;
    v_set  text;
BEGIN
    IF p_glob IS NULL THEN
        RETURN NULL;
    END IF;
    -- Names have 255 bytes.
    PERFORM pgbox.need(length(p_glob) <= 4096, 'glob', left(p_glob, 64));
    WHILE v_i <= length(p_glob) LOOP
        v_c := substr(p_glob, v_i, 1);
        IF v_c = '*' THEN
            v_out := v_out || '.*';
        ELSIF v_c = '?' THEN
            v_out := v_out || '.';
        ELSIF v_c = '[' AND p_glob ~ ('^.{' || v_i || '}[!^]?\]?([^]]|\[:[a-z]+:\])*\]') THEN
            v_set := substring(substr(p_glob, v_i + 1) FROM '^([!^]?\]?(?:\[:[a-z]+:\]|[^]])*)\]');
            v_end := length(v_set);
            IF left(v_set, 1) IN ('!', '^') THEN
                v_out := v_out || '[^' || replace(substr(v_set, 2), '\', '\\') || ']';
            ELSE
                v_out := v_out || '[' || replace(v_set, '\', '\\') || ']';
            END IF;
            v_i := v_i + v_end + 1;
        ELSE
            IF v_c = '\' AND v_i < length(p_glob) THEN
                v_i := v_i + 1;
                v_c := substr(p_glob, v_i, 1);
            END IF;
            v_out := v_out || CASE WHEN v_c ~ '[[:alnum:]_[:space:]]' THEN v_c ELSE '\' || v_c END;
        END IF;
        v_i := v_i + 1;
    END LOOP;
    -- "(?s)" is the default in SQL: a dot is any character, the line feed too
    v_out := '^(?:' || v_out || ')$';
    BEGIN
        PERFORM '' ~ v_out;
    EXCEPTION WHEN invalid_regular_expression THEN
        PERFORM pgbox.raise_errno('EINVAL', 'glob', p_glob);
    END;
    RETURN v_out;
END
$$;

COMMENT ON FUNCTION pgbox.glob_regex(text) IS
    'Translates a shell pattern (fnmatch(3): *, ?, [a-z], [!a-z], [[:alpha:]], backslash) for one name into a regular expression.';
