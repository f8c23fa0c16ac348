CREATE FUNCTION pgbox.text_of(p_data bytea) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF position('\x00'::bytea IN p_data) > 0 THEN
        RETURN NULL;
    END IF;
    -- There is no other way to ask whether bytes are valid UTF-8.
    BEGIN
        RETURN convert_from(p_data, 'UTF8');
    EXCEPTION WHEN character_not_in_repertoire OR untranslatable_character THEN
        RETURN convert_from(p_data, 'LATIN1');
    END;
END
$$;

COMMENT ON FUNCTION pgbox.text_of(bytea) IS
    'Bytes as text: as UTF-8, or as ISO 8859-1 when they are not valid UTF-8; NULL when there is a NUL byte, by which grep recognizes a binary file.';
