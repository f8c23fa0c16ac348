CREATE FUNCTION pgbox.need_columns(p_key anyarray, p_op text, p_argument text, VARIADIC p_lengths integer[]) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF NOT coalesce(coalesce(cardinality(p_key), 0) = ALL (p_lengths), true) OR array_ndims(p_key) > 1 OR array_position(p_key, NULL) IS NOT NULL THEN
        PERFORM pgbox.raise_errno('EINVAL', p_op, p_argument);
    END IF;
END
$$;

COMMENT ON FUNCTION pgbox.need_columns(anyarray, text, text, integer[]) IS
    'Raises EINVAL for parallel arrays of different lengths, or with a NULL in the first one. (An array that is NULL has the length NULL, which is let through.)';
