CREATE FUNCTION fs.restore(p_sandbox uuid, p_at text) RETURNS SETOF fs.sandbox
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_sandbox pgbox.sandbox := pgbox.lock_sandbox(p_sandbox);
    v_state   pgbox.snapshot := pgbox.state_at(v_sandbox, p_at);
BEGIN
    IF v_state.id IS NOT NULL THEN
        PERFORM pgbox.stand_on(pgbox.point(v_sandbox, 'undo'), v_state);
    END IF;
    RETURN QUERY SELECT v.* FROM fs.sandbox v WHERE v.id = p_sandbox;
END
$$;

ALTER FUNCTION fs.restore(uuid, text) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION fs.restore(uuid, text) IS
    'Puts the tree and shell state of a sandbox back to an earlier state (p_at as in pgbox.state_at; VF002 when there is none), whatever its size. fs.undo() takes it back.';
