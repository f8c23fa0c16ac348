CREATE FUNCTION pgbox.free_layers(p_layers uuid[]) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off
    SET jit = off
AS $$
DECLARE
    v_free uuid[];
BEGIN
    -- A layer gets a new user only from a sandbox, snapshot or image that stands on it, under the lock of that
    -- sandbox's or image's row. Without one, nobody can come any more.
    v_free := ARRAY(
        SELECT l.id
          FROM pgbox.layer l
         WHERE l.id = ANY (pgbox.idle_layers(p_layers))
         ORDER BY l.id
           FOR UPDATE SKIP LOCKED);
    IF cardinality(v_free) = 0 THEN
        RETURN 0;
    END IF;
    DELETE FROM pgbox.chunk r WHERE r.layer_id = ANY (v_free);
    DELETE FROM pgbox.dirent r WHERE r.layer_id = ANY (v_free);
    DELETE FROM pgbox.inode r WHERE r.layer_id = ANY (v_free);
    DELETE FROM pgbox.kv r WHERE r.layer_id = ANY (v_free);
    DELETE FROM pgbox.layer r WHERE r.id = ANY (v_free);
    RETURN cardinality(v_free);
END
$$;

ALTER FUNCTION pgbox.free_layers(uuid[]) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION pgbox.free_layers(uuid[]) IS
    'Deletes those of the given layers that no living sandbox, no snapshot and no image stands on. Returns how many.';
