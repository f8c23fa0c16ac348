CREATE FUNCTION pgbox.step(p_sandbox pgbox.sandbox, p_from text, p_to text, p_steps integer, p_exec jsonb) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_states pgbox.snapshot[];
    v_state  pgbox.snapshot;
    v_before bigint := p_sandbox.version;
    v_layers uuid[];
    v_exec   uuid := CASE WHEN p_exec IS NOT NULL THEN coalesce((p_exec->>'id')::uuid, gen_random_uuid()) END;
BEGIN
    IF p_steps < 1 THEN
        PERFORM pgbox.raise_errno(22, p_from, p_steps::text);
    END IF;
    v_states := ARRAY(
        SELECT n FROM pgbox.snapshot n
         WHERE n.sandbox_id = p_sandbox.id AND n.kind = 'automatic' AND n.stack = p_from
         ORDER BY n.version DESC
         LIMIT p_steps);
    IF cardinality(v_states) < p_steps THEN
        PERFORM pgbox.raise_errno(61, p_from, p_sandbox.id::text);
    END IF;
    UPDATE pgbox.snapshot n SET stack = NULL WHERE n.id IN (SELECT u.id FROM unnest(v_states) u);
    -- Every step is a version of its own, so that each can be taken back.
    FOREACH v_state IN ARRAY v_states LOOP
        p_sandbox := pgbox.point(p_sandbox, p_to);
        v_layers := p_sandbox.layers;
        p_sandbox := pgbox.stand_on(p_sandbox, v_state);
        PERFORM pgbox.record_step(p_sandbox, v_layers, v_exec);
    END LOOP;
    IF p_exec IS NOT NULL THEN
        PERFORM pgbox.add_exec(p_sandbox.id, p_exec || jsonb_build_object('id', v_exec), v_before, p_sandbox.version);
    END IF;
    UPDATE pgbox.sandbox s SET undone_version = s.version WHERE s.id = p_sandbox.id;
END
$$;

ALTER FUNCTION pgbox.step(pgbox.sandbox, text, text, integer, jsonb) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION pgbox.step(pgbox.sandbox, text, text, integer, jsonb) IS
    'Moves a locked sandbox to the newest states of one stack (undo, redo), leaving those it was in on the other. VF061 when the stack has fewer. p_exec is for the audit row of all of it, as in fs.apply; NULL: none.';
