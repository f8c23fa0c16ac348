CREATE FUNCTION fs.get_sandbox(p_sandbox uuid) RETURNS SETOF fs.sandbox
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_row fs.sandbox;
BEGIN
    SELECT v.* INTO v_row FROM fs.sandbox v
     WHERE v.id = p_sandbox AND v.deleted_at IS NULL AND (v.expires_at IS NULL OR v.expires_at > clock_timestamp());
    IF NOT FOUND THEN
        PERFORM pgbox.raise_errno('ESRCH', 'get_sandbox', p_sandbox::text);
    END IF;
    -- What only reads writes nothing into the sandbox's row.
    v_row.last_used_at := greatest(v_row.last_used_at, (SELECT max(e.started_at) FROM pgbox.exec e
                                                            WHERE e.sandbox_id = p_sandbox AND NOT (e.committed AND e.version_after = 0))); -- that is how it was made
    RETURN NEXT v_row;
END
$$;

ALTER FUNCTION fs.get_sandbox(uuid) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION fs.get_sandbox(uuid) IS
    'The row of one living sandbox. It was last used when it was last changed or last run in, whichever is later. ESRCH when it is missing, dropped or expired.';
