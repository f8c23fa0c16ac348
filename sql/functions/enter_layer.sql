CREATE FUNCTION pgbox.enter_layer(p_sandbox uuid, p_layer uuid) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_sandbox pgbox.sandbox := pgbox.enter_sandbox_read(p_sandbox);
    v_layers  uuid[];
BEGIN
    IF p_layer = ANY (v_sandbox.layers) THEN
        RETURN;
    END IF;
    -- Or of a state it had.
    SELECT n.layers INTO v_layers FROM pgbox.snapshot n WHERE n.sandbox_id = p_sandbox AND n.layers @> ARRAY[p_layer] LIMIT 1;
    IF v_layers IS NULL THEN
        PERFORM pgbox.raise_errno('ESTALE', 'load', p_layer::text);
    END IF;
    PERFORM set_config('app.layers', v_layers::text, true);
END
$$;

COMMENT ON FUNCTION pgbox.enter_layer(uuid, uuid) IS
    'Is pgbox.enter_sandbox_read() for a reader of one layer. ESTALE when neither the sandbox nor one of its snapshots stands on that layer.';
