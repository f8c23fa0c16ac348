CREATE FUNCTION pgbox.end_restore(p_sandbox uuid) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off
    SET jit = off
AS $$
DECLARE
    v_own    xid := pg_current_xact_id()::xid;
    v_layers uuid[];
    v_others uuid[];
    v_top    uuid;
    v_new    uuid;
BEGIN
    SELECT s.layers[1], s.layers || ARRAY(SELECT unnest(n.layers) FROM pgbox.snapshot n WHERE n.sandbox_id = s.id)
      INTO v_top, v_layers
      FROM pgbox.sandbox s WHERE s.id = p_sandbox;
    IF v_top IS NULL THEN
        PERFORM pgbox.raise_errno('ESRCH', 'restore', p_sandbox::text);
    END IF;
    -- What was here before must be here still, and fs.gc waits until this is over.
    PERFORM FROM pgbox.layer l WHERE l.id = ANY (v_layers) ORDER BY l.id FOR KEY SHARE;
    PERFORM FROM pgbox.blob b
      WHERE b.sha256 = ANY (ARRAY(WITH RECURSIVE held (sha256) AS (
                SELECT c.sha256 FROM pgbox.chunk c WHERE c.layer_id = ANY (v_layers) AND c.sha256 IS NOT NULL
                UNION
                SELECT o.base FROM held h JOIN pgbox.blob o ON o.sha256 = h.sha256 WHERE o.base IS NOT NULL
            ) SELECT h.sha256 FROM held h))
      ORDER BY b.sha256 FOR KEY SHARE;
    PERFORM FROM pgbox.shell_state t
      WHERE t.sha256 = ANY (ARRAY(SELECT s.state_sha256 FROM pgbox.sandbox s WHERE s.id = p_sandbox
                                  UNION SELECT n.state_sha256 FROM pgbox.snapshot n WHERE n.sandbox_id = p_sandbox))
      ORDER BY t.sha256 FOR KEY SHARE;
    -- A sealed layer is the same wherever it is. One that was open when this database was copied, and went another way since, is not: its sandbox must not get rows of this one.
    v_others := ARRAY(SELECT l.id FROM pgbox.layer l WHERE l.id = ANY (v_layers) AND l.xmin <> v_own);
    IF EXISTS (SELECT FROM pgbox.inode r WHERE r.layer_id = ANY (v_others) AND r.xmin = v_own)
       OR EXISTS (SELECT FROM pgbox.dirent r WHERE r.layer_id = ANY (v_others) AND r.xmin = v_own)
       OR EXISTS (SELECT FROM pgbox.chunk r WHERE r.layer_id = ANY (v_others) AND r.xmin = v_own)
       OR EXISTS (SELECT FROM pgbox.kv r WHERE r.layer_id = ANY (v_others) AND r.xmin = v_own) THEN
        PERFORM pgbox.raise_errno('ESTALE', 'restore', p_sandbox::text);
    END IF;
    -- The top was open when it was dumped, so there may be another state of it in the original, in another restore, in the cache of a gateway that is at
    -- work: under a name of its own nothing takes one for the other.
    INSERT INTO pgbox.layer (id) VALUES (pgbox.new_layer_id()) RETURNING id INTO v_new;
    UPDATE pgbox.inode r SET layer_id = v_new WHERE r.layer_id = v_top;
    UPDATE pgbox.dirent r SET layer_id = v_new WHERE r.layer_id = v_top;
    UPDATE pgbox.chunk r SET layer_id = v_new WHERE r.layer_id = v_top;
    UPDATE pgbox.kv r SET layer_id = v_new WHERE r.layer_id = v_top;
    DELETE FROM pgbox.layer l WHERE l.id = v_top;
    UPDATE pgbox.sandbox s SET layers = v_new || s.layers[2:] WHERE s.id = p_sandbox;
END
$$;

ALTER FUNCTION pgbox.end_restore(uuid) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION pgbox.end_restore(uuid) IS
    'Goes after the rows of a dumped sandbox, in the same transaction. Gives the sandbox a top layer that no cache knows, and keeps what it shares with others. ESTALE when a layer that was here before differs from that of the dump.';
