CREATE FUNCTION fs.housekeep(
    p_every      interval DEFAULT '0',
    p_grace      interval DEFAULT '1 hour',
    p_limit      integer  DEFAULT 1000,
    p_history    interval DEFAULT NULL,
    p_operations bigint   DEFAULT NULL
) RETURNS TABLE (due boolean, more boolean, sandboxes bigint, layers bigint, blobs bigint, bytes bigint, changes bigint, execs bigint)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF p_every IS NULL OR p_every NOT BETWEEN interval '0' AND interval '1000 years' OR p_limit IS NULL OR p_limit < 1 THEN
        PERFORM pgbox.raise_errno('EINVAL', 'housekeep', coalesce(p_every::text, p_limit::text));
    END IF;
    -- The row's lock is the leader's: it ends with the transaction, behind a pooler too.
    PERFORM FROM pgbox.housekeeping h WHERE h.done_at <= clock_timestamp() - p_every FOR UPDATE SKIP LOCKED;
    due := FOUND;
    more := false;
    sandboxes := 0;
    layers := 0;
    blobs := 0;
    bytes := 0;
    changes := 0;
    execs := 0;
    IF due THEN
        sandboxes := fs.expire(p_limit);
        SELECT g.layers, g.blobs, g.bytes, g.more INTO layers, blobs, bytes, more FROM fs.gc(p_grace, p_limit) g;
        SELECT p.changes, p.execs INTO changes, execs FROM fs.prune(p_history, p_operations, p_limit) p;
        more := more OR sandboxes >= p_limit OR changes >= p_limit OR execs >= p_limit;
        IF NOT more THEN
            UPDATE pgbox.housekeeping h SET done_at = clock_timestamp();
        END IF;
    END IF;
    RETURN NEXT;
END
$$;

ALTER FUNCTION fs.housekeep(interval, interval, integer, interval, bigint) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION fs.housekeep(interval, interval, integer, interval, bigint) IS
    'Runs fs.expire(), fs.gc() and fs.prune() once. due is false, and nothing is done, while another call is at work or when the last one finished within p_every. more: p_limit of something was reached, so call again.';
