CREATE FUNCTION pgbox.step(p_sandbox pgbox.sandbox, p_from text, p_to text, p_steps integer, p_exec jsonb) RETURNS jsonb
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_states pgbox.snapshot[];
    v_state  pgbox.snapshot;
    v_before bigint := p_sandbox.version;
    v_layers uuid[];
    v_origin bigint;
    v_since  bigint;
    v_until  bigint;
    v_steps  jsonb := '[]';
    v_exec   uuid := coalesce((p_exec->>'id')::uuid, gen_random_uuid());
BEGIN
    IF p_steps < 1 THEN
        PERFORM pgbox.raise_errno('EINVAL', p_from, p_steps::text);
    END IF;
    v_states := ARRAY(
        SELECT n FROM pgbox.snapshot n
         WHERE n.sandbox_id = p_sandbox.id AND n.kind = 'automatic' AND n.stack = p_from
         ORDER BY n.version DESC
         LIMIT p_steps);
    IF cardinality(v_states) < p_steps THEN
        PERFORM pgbox.raise_errno('ENODATA', p_from, p_sandbox.id::text);
    END IF;
    UPDATE pgbox.snapshot n SET stack = NULL WHERE n.id IN (SELECT u.id FROM unnest(v_states) u);
    -- Every step is a version of its own, so that each can be taken back.
    FOREACH v_state IN ARRAY v_states LOOP
        v_origin := CASE WHEN p_sandbox.undone_version = p_sandbox.version THEN p_sandbox.undone_origin END;
        v_origin := coalesce(v_origin, p_sandbox.version);
        v_since := coalesce(v_state.since_version, v_state.version);
        v_until := CASE p_from WHEN 'undo' THEN v_origin ELSE coalesce(v_state.origin_version, v_state.version) END;
        p_sandbox := pgbox.point(p_sandbox, p_to);
        UPDATE pgbox.snapshot n SET since_version = v_since
         WHERE n.sandbox_id = p_sandbox.id AND n.name = '@' || p_sandbox.version;
        v_layers := p_sandbox.layers;
        p_sandbox := pgbox.stand_on(p_sandbox, v_state);
        PERFORM pgbox.record_step(p_sandbox, v_layers, v_exec);
        UPDATE pgbox.sandbox s SET undone_version = s.version, undone_origin = coalesce(v_state.origin_version, v_state.version)
         WHERE s.id = p_sandbox.id
        RETURNING s.* INTO p_sandbox;
        -- What says what was done is bounded.
        IF jsonb_array_length(v_steps) < 100 THEN
            v_steps := v_steps || pgbox.describe_step(p_sandbox, v_layers, v_since, v_until);
        END IF;
    END LOOP;
    PERFORM pgbox.add_exec(p_sandbox.id, p_exec || jsonb_build_object('id', v_exec), v_before, p_sandbox.version);
    RETURN v_steps;
END
$$;

ALTER FUNCTION pgbox.step(pgbox.sandbox, text, text, integer, jsonb) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION pgbox.step(pgbox.sandbox, text, text, integer, jsonb) IS
    'Moves a locked sandbox to the newest states of one stack (undo or redo), and puts those it leaves on the other. ENODATA when the stack has fewer than p_steps. p_exec is the audit row of all of it, as in fs.apply. Returns what each of the first 100 steps did (pgbox.describe_step).';
