CREATE FUNCTION pgbox.need(p_ok boolean, p_op text, p_argument text) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF p_ok IS NOT TRUE THEN
        PERFORM pgbox.raise_errno('EINVAL', p_op, p_argument);
    END IF;
END
$$;

COMMENT ON FUNCTION pgbox.need(boolean, text, text) IS
    'Raises EINVAL with the name of the argument unless p_ok is true.';
