CREATE FUNCTION pgbox.enter_layer(p_sandbox uuid, p_layer uuid) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_sandbox pgbox.sandbox := pgbox.enter_sandbox_read(p_sandbox);
BEGIN
    IF p_layer <> ALL (v_sandbox.layers) THEN
        PERFORM pgbox.raise_errno(116, 'load', p_layer::text);
    END IF;
END
$$;

COMMENT ON FUNCTION pgbox.enter_layer(uuid, uuid) IS
    'pgbox.enter_sandbox_read() for a reader of one layer: raises VF116 when the sandbox does not stand on it.';
