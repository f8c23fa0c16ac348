CREATE FUNCTION pgbox.need_limit(p_limit bigint, p_op text) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM pgbox.need(p_limit IS NULL OR p_limit >= 0, p_op, 'p_limit');
END
$$;

COMMENT ON FUNCTION pgbox.need_limit(bigint, text) IS
    'Raises EINVAL for a negative number of rows. NULL is no limit.';
