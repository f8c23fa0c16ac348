-- Most layers have many rows, so a planner that looks for one row reads the table from its beginning; an empty
-- layer then costs the whole table. Hence no sequential scans.
CREATE FUNCTION pgbox.seal_top(p_sandbox pgbox.sandbox) RETURNS pgbox.sandbox
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off
    SET jit = off
AS $$
DECLARE
    c_depth constant integer := 32;
    v_depth integer := cardinality(p_sandbox.layers);
    v_top   uuid := p_sandbox.layers[1];
    v_new   uuid;
    v_count integer;
BEGIN
    IF NOT (EXISTS (SELECT FROM pgbox.inode r WHERE r.layer_id = v_top) OR EXISTS (SELECT FROM pgbox.dirent r WHERE r.layer_id = v_top)
            OR EXISTS (SELECT FROM pgbox.chunk r WHERE r.layer_id = v_top) OR EXISTS (SELECT FROM pgbox.kv r WHERE r.layer_id = v_top)) THEN
        RETURN p_sandbox;
    END IF;
    IF v_depth >= c_depth THEN
        -- Rows are counted here and once for each layer, so that sealing one costs the same whatever is in it. Who counts the same layers at this moment is left to it.
        UPDATE pgbox.layer l SET row_count = pgbox.count_rows(l.id)
         WHERE l.id IN (SELECT r.id FROM pgbox.layer r
                         WHERE r.id = ANY (p_sandbox.layers[:v_depth - 1]) AND r.row_count IS NULL
                           FOR NO KEY UPDATE SKIP LOCKED);
        -- The newest ones, as many as make the fewest rows to copy for each layer less: small ones are merged often, large ones seldom.
        SELECT c.n INTO v_count
          FROM (SELECT l.n, sum(coalesce(r.row_count, 100000)) OVER (ORDER BY l.n) AS cost
                  FROM unnest(p_sandbox.layers[:v_depth - 1]) WITH ORDINALITY AS l (id, n)
                  LEFT JOIN pgbox.layer r ON r.id = l.id) c
         WHERE c.n > 1
         ORDER BY c.cost / (c.n - 1), c.n DESC
         LIMIT 1;
        p_sandbox.layers := pgbox.merge_layers(p_sandbox.layers, v_count);
        v_top := p_sandbox.layers[1];
    END IF;
    INSERT INTO pgbox.layer (id) VALUES (pgbox.new_layer_id()) RETURNING id INTO v_new;
    UPDATE pgbox.layer l SET sealed_at = clock_timestamp() WHERE l.id = v_top;
    p_sandbox.layers := v_new || p_sandbox.layers;
    RETURN p_sandbox;
END
$$;

ALTER FUNCTION pgbox.seal_top(pgbox.sandbox) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION pgbox.seal_top(pgbox.sandbox) IS
    'Makes everything below the top layer of a locked sandbox immutable. A top layer with rows is sealed and gets a new one over it; an empty one stays. Returns the row with its new layers, which the caller writes; layers[2:] is what others may stand on.';
