CREATE FUNCTION pgbox.kv_at(p_layers uuid[], p_key text) RETURNS pgbox.kv
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_row pgbox.kv;
BEGIN
    SELECT k.* INTO v_row
      FROM pgbox.kv k
     WHERE k.layer_id = ANY (p_layers) AND k.key = p_key COLLATE "C"
     ORDER BY array_position(p_layers, k.layer_id)
     LIMIT 1;
    RETURN v_row;
END
$$;

COMMENT ON FUNCTION pgbox.kv_at(uuid[], text) IS
    'The effective row of a key over a chain of layers: all NULL when the key never existed, with a NULL value when it was removed.';
