CREATE FUNCTION pgbox.zeros(p_length integer) RETURNS bytea
    LANGUAGE sql IMMUTABLE
    SET search_path = pg_catalog, pg_temp
AS $$
    SELECT decode(repeat('00', p_length), 'hex')
$$;
COMMENT ON FUNCTION pgbox.zeros(integer) IS 'A string of p_length NUL bytes: how a hole reads.';
