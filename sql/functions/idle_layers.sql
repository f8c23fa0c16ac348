CREATE FUNCTION pgbox.idle_layers(p_layers uuid[]) RETURNS uuid[]
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off
    SET jit = off
AS $$
BEGIN
    RETURN ARRAY(
        SELECT l.id
          FROM pgbox.layer l
         WHERE l.id = ANY (p_layers)
           AND NOT EXISTS (SELECT FROM pgbox.schema_digest d WHERE d.base_layer = l.id)
           AND NOT EXISTS (SELECT FROM pgbox.sandbox s WHERE s.layers @> ARRAY[l.id] AND s.deleted_at IS NULL)
           AND NOT EXISTS (SELECT FROM pgbox.snapshot n WHERE n.layers @> ARRAY[l.id])
           AND NOT EXISTS (SELECT FROM pgbox.image i WHERE i.layers @> ARRAY[l.id]));
END
$$;

ALTER FUNCTION pgbox.idle_layers(uuid[]) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION pgbox.idle_layers(uuid[]) IS
    'Those of the given layers that exist and that no living sandbox, no snapshot and no image stands on.';
