CREATE FUNCTION fs.gc(p_grace interval DEFAULT '1 hour', p_limit integer DEFAULT 10000)
RETURNS TABLE (layers bigint, blobs bigint, bytes bigint, more boolean)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off
    SET jit = off
AS $$
DECLARE
    v_rows   tid[];
    v_layers uuid[];
    v_loose  bytea[];
    v_since  timestamptz[];
    v_old    bytea[];
    v_done   bigint;
    v_state  bytea[];
BEGIN
    -- Each statement has to see what was committed until it began.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        PERFORM pgbox.raise_errno('EINVAL', 'gc', current_setting('transaction_isolation'));
    END IF;
    IF p_grace IS NULL OR p_grace < interval '0' OR p_limit IS NULL OR p_limit < 1 THEN
        PERFORM pgbox.raise_errno('EINVAL', 'gc', coalesce(p_grace::text, p_limit::text));
    END IF;
    SELECT array_agg(c.ctid), array_agg(DISTINCT c.layer_id) INTO v_rows, v_layers
      FROM (SELECT o.ctid, o.layer_id FROM pgbox.loose_layer o LIMIT p_limit FOR UPDATE SKIP LOCKED) c;
    more := coalesce(cardinality(v_rows), 0) >= p_limit;
    layers := pgbox.free_layers(v_layers);
    -- One that somebody else holds at this moment may be garbage all the same: it is looked at again.
    DELETE FROM pgbox.loose_layer o
     WHERE o.ctid = ANY (v_rows) AND o.layer_id <> ALL (pgbox.idle_layers(v_layers));

    -- First the clock starts: a run on an older version may still read what the newest no longer has.
    v_rows := ARRAY(SELECT o.ctid FROM pgbox.loose_blob o WHERE o.since IS NULL LIMIT p_limit FOR UPDATE SKIP LOCKED);
    more := more OR cardinality(v_rows) >= p_limit;
    WITH gone AS (
        DELETE FROM pgbox.loose_blob o WHERE o.ctid = ANY (v_rows) RETURNING o.sha256
    )
    INSERT INTO pgbox.loose_blob (sha256, since)
    SELECT i.sha256, statement_timestamp() FROM (SELECT DISTINCT g.sha256 FROM gone g) i WHERE NOT pgbox.is_used(i.sha256);

    -- Then those idle for long enough are locked. fs.apply holds what it refers to FOR KEY SHARE until it
    -- commits, so whatever can be locked is either settled by now or waits for us.
    SELECT array_agg(c.ctid), array_agg(c.sha256), array_agg(c.since) INTO v_rows, v_loose, v_since
      FROM (SELECT o.ctid, o.sha256, o.since FROM pgbox.loose_blob o
             WHERE o.since <= clock_timestamp() - p_grace
             LIMIT p_limit
               FOR UPDATE SKIP LOCKED) c;
    v_old := ARRAY(
        SELECT b.sha256 FROM pgbox.blob b
         WHERE b.sha256 = ANY (v_loose)
         ORDER BY b.sha256
           FOR UPDATE SKIP LOCKED);
    -- What somebody else holds at this moment stays in the queue.
    DELETE FROM pgbox.loose_blob o
     WHERE o.ctid = ANY (v_rows)
       AND (o.sha256 = ANY (v_old) OR NOT EXISTS (SELECT FROM pgbox.blob b WHERE b.sha256 = o.sha256));
    GET DIAGNOSTICS v_done = ROW_COUNT;
    more := more OR v_done >= p_limit;
    -- And only then, with a snapshot younger than the locks, is it decided what is still idle. What those were based on may go now: it has been idle
    -- for as long, or it is in use.
    WITH gone AS (
        DELETE FROM pgbox.blob b
         WHERE b.sha256 = ANY (v_old) AND NOT pgbox.is_used(b.sha256)
        RETURNING b.sha256, b.base, octet_length(b.data) AS size
    ), below AS (
        INSERT INTO pgbox.loose_blob (sha256, since)
        SELECT g.base, max(l.since)
          FROM gone g
          JOIN unnest(v_loose, v_since) AS l (sha256, since) ON l.sha256 = g.sha256
         WHERE g.base IS NOT NULL
         GROUP BY g.base
    )
    SELECT count(*), coalesce(sum(g.size), 0), more OR count(g.base) > 0 INTO blobs, bytes, more FROM gone g;

    -- States of shells, in the same way.
    v_rows := ARRAY(SELECT o.ctid FROM pgbox.loose_state o LIMIT p_limit FOR UPDATE SKIP LOCKED);
    more := more OR cardinality(v_rows) >= p_limit;
    WITH gone AS (
        DELETE FROM pgbox.loose_state o WHERE o.ctid = ANY (v_rows) RETURNING o.sha256
    )
    SELECT array_agg(DISTINCT g.sha256) INTO v_loose FROM gone g;
    UPDATE pgbox.shell_state t SET idle_since = clock_timestamp()
     WHERE t.sha256 IN (
           SELECT i.sha256 FROM pgbox.shell_state i
            WHERE i.sha256 = ANY (v_loose) AND i.idle_since IS NULL AND NOT pgbox.has_state(i.sha256)
            ORDER BY i.sha256
              FOR NO KEY UPDATE);
    v_state := ARRAY(
        SELECT t.sha256 FROM pgbox.shell_state t
         WHERE t.idle_since <= clock_timestamp() - p_grace
         LIMIT p_limit
           FOR UPDATE SKIP LOCKED);
    UPDATE pgbox.shell_state t SET idle_since = NULL WHERE t.sha256 = ANY (v_state) AND pgbox.has_state(t.sha256);
    DELETE FROM pgbox.shell_state t WHERE t.sha256 = ANY (v_state) AND NOT pgbox.has_state(t.sha256);
    RETURN NEXT;
END
$$;

ALTER FUNCTION fs.gc(interval, integer) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION fs.gc(interval, integer) IS
    'Deletes layers that nothing stands on, and blobs and shell states that nothing has referred to for p_grace. Looks at no more than p_limit of each, and only at those that something has let go of, so it costs what the garbage costs. Returns what was deleted; more: call again. Runs beside everything else, in READ COMMITTED.';
