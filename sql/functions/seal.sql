-- Most layers have many rows, so a planner that looks for one row reads the table from its beginning; an empty
-- layer then costs the whole table. Hence no sequential scans.
CREATE FUNCTION pgbox.seal(p_sandbox pgbox.sandbox) RETURNS pgbox.sandbox
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off
    SET jit = off
AS $$
DECLARE
    c_depth constant integer := 32;
    v_top   uuid := p_sandbox.layers[1];
    v_new   uuid;
BEGIN
    IF NOT EXISTS (SELECT FROM pgbox.inode r WHERE r.layer_id = v_top)
       AND NOT EXISTS (SELECT FROM pgbox.dirent r WHERE r.layer_id = v_top)
       AND NOT EXISTS (SELECT FROM pgbox.chunk r WHERE r.layer_id = v_top)
       AND NOT EXISTS (SELECT FROM pgbox.kv r WHERE r.layer_id = v_top) THEN
        RETURN p_sandbox;
    END IF;
    IF cardinality(p_sandbox.layers) >= c_depth THEN
        p_sandbox.layers := pgbox.merge_layers(p_sandbox.layers);
        v_top := p_sandbox.layers[1];
    END IF;
    INSERT INTO pgbox.layer (id) VALUES (gen_random_uuid()) RETURNING id INTO v_new;
    UPDATE pgbox.layer l SET sealed_at = clock_timestamp() WHERE l.id = v_top;
    p_sandbox.layers := v_new || p_sandbox.layers;
    p_sandbox.version := p_sandbox.version + 1;
    UPDATE pgbox.sandbox s SET layers = p_sandbox.layers, version = p_sandbox.version WHERE s.id = p_sandbox.id;
    RETURN p_sandbox;
END
$$;

ALTER FUNCTION pgbox.seal(pgbox.sandbox) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION pgbox.seal(pgbox.sandbox) IS
    'Makes everything below the top of a locked sandbox immutable: a top that holds rows is sealed and a new one put over it, an empty one stays. Returns the row as it is now; layers[2:] is what others may stand on.';
