CREATE FUNCTION fs.settle(p_sandbox uuid, p_exec uuid) RETURNS SETOF bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- Waits for the lost transaction, if it is still there, to end one way or the other. To lock is to write: this commits only when the synchronous
    -- standby has all that was written before, also where the lost session was ended while it waited for that.
    v_sandbox pgbox.sandbox := pgbox.enter_sandbox(p_sandbox);
    v_version bigint;
BEGIN
    SELECT e.version_after INTO v_version FROM pgbox.exec e WHERE e.id = p_exec AND e.sandbox_id = p_sandbox AND e.committed;
    IF v_version IS NULL THEN
        -- It may not even have begun: on the next version it is stale, whenever it comes.
        PERFORM pgbox.bump(v_sandbox, 0, 0);
        RETURN;
    END IF;
    RETURN NEXT v_version;
END
$$;

COMMENT ON FUNCTION fs.settle(uuid, uuid) IS
    'Settles the outcome of an fs.apply whose connection was lost: returns the version it made, or no row when it was not applied and never will be. p_exec is the id of its audit row.';
