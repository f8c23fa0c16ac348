CREATE FUNCTION pgbox.describe_step(p_sandbox pgbox.sandbox, p_before uuid[], p_since bigint, p_until bigint) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off
    SET jit = off
AS $$
DECLARE
    c_runs  constant integer := 20;
    c_paths constant integer := 100;
    c_text  constant integer := 2000;
    v_runs  jsonb;
    v_paths text[];
BEGIN
    SELECT jsonb_agg(jsonb_build_object('version', r.version, 'exec', e.id, 'script', left(coalesce(e.script, ''), c_text),
                                        'caller', coalesce(e.caller, r.db_role, ''), 'agent', coalesce(e.agent, ''),
                                        'route', coalesce(e.route, 'sql'), 'at', coalesce(e.started_at, r.at)) ORDER BY r.version DESC)
      INTO v_runs
      FROM (SELECT c.version, c.exec_id, max(c.db_role) AS db_role, min(c.at) AS at
              FROM pgbox.change c
             WHERE c.sandbox_id = p_sandbox.id AND c.version > p_since AND c.version <= p_until
             GROUP BY c.version, c.exec_id
             ORDER BY c.version DESC
             LIMIT c_runs) r
      LEFT JOIN pgbox.exec e ON e.id = r.exec_id;
    IF v_runs IS NULL THEN
        -- No journal: the log of runs, whose order is that of time.
        SELECT jsonb_agg(jsonb_build_object('version', e.version_after, 'exec', e.id, 'script', left(e.script, c_text), 'caller', e.caller,
                                            'agent', e.agent, 'route', e.route, 'at', e.started_at) ORDER BY e.version_after DESC)
          INTO v_runs
          FROM (SELECT o.*
                  FROM (SELECT x.* FROM pgbox.exec x WHERE x.sandbox_id = p_sandbox.id ORDER BY x.started_at DESC LIMIT 1000) o
                 WHERE o.committed AND o.version_after > p_since AND o.version_after <= p_until
                 ORDER BY o.version_after DESC
                 LIMIT c_runs) e;
    END IF;
    IF p_sandbox.journal THEN
        v_paths := ARRAY(SELECT c.path FROM pgbox.change c WHERE c.sandbox_id = p_sandbox.id AND c.version = p_sandbox.version
                         UNION
                         SELECT c.path_to FROM pgbox.change c
                          WHERE c.sandbox_id = p_sandbox.id AND c.version = p_sandbox.version AND c.op IN ('rename', 'link')
                         ORDER BY 1);
    ELSE
        v_paths := ARRAY(SELECT c.path FROM pgbox.compare(p_before, p_sandbox.layers, true) c
                         UNION
                         SELECT c.path_from FROM pgbox.compare(p_before, p_sandbox.layers, true) c WHERE c.path_from <> ''
                         ORDER BY 1);
    END IF;
    RETURN jsonb_build_object('version', p_sandbox.version, 'first', p_since + 1, 'last', p_until, 'runs', coalesce(v_runs, '[]'),
                              'paths', to_jsonb(v_paths[:c_paths]), 'total', cardinality(v_paths));
END
$$;

ALTER FUNCTION pgbox.describe_step(pgbox.sandbox, uuid[], bigint, bigint) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION pgbox.describe_step(pgbox.sandbox, uuid[], bigint, bigint) IS
    'What one step of fs.undo() or fs.redo() did. p_sandbox is the row as it is now, p_before the layers it stood on before. Says the version it made, the versions first to last that it took back or brought again, the runs that made those (the newest 20: script, caller, agent, route, at), and the paths that changed (the first 100, and their number).';
