-- pg_input_is_valid() came with PostgreSQL 16.
CREATE FUNCTION pgbox.need_type(p_text text, p_type regtype, p_op text, p_argument text) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_fine boolean;
BEGIN
    BEGIN
        CASE p_type
        WHEN 'timestamptz'::regtype THEN
            v_fine := p_text::timestamptz IS NOT DISTINCT FROM p_text::timestamptz;
        WHEN 'uuid'::regtype THEN
            v_fine := p_text::uuid IS NOT DISTINCT FROM p_text::uuid;
        WHEN 'integer'::regtype THEN
            v_fine := p_text::integer IS NOT DISTINCT FROM p_text::integer;
        WHEN 'bigint'::regtype THEN
            v_fine := p_text::bigint IS NOT DISTINCT FROM p_text::bigint;
        WHEN 'boolean'::regtype THEN
            v_fine := p_text::boolean IS NOT DISTINCT FROM p_text::boolean;
        END CASE;
    EXCEPTION WHEN data_exception THEN
        v_fine := false;
    END;
    PERFORM pgbox.need(v_fine, p_op, p_argument);
END
$$;

COMMENT ON FUNCTION pgbox.need_type(text, regtype, text, text) IS
    'Raises EINVAL for a text that cannot be cast to a type. NULL can be.';
