CREATE FUNCTION fs.gc(p_grace interval DEFAULT '1 hour', p_limit integer DEFAULT 10000) RETURNS TABLE (layers bigint, blobs bigint, bytes bigint)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_old bytea[];
BEGIN
    -- Each statement has to see what was committed until it began.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        PERFORM pgbox.raise_errno(22, 'gc', current_setting('transaction_isolation'));
    END IF;
    -- One pass over everybody's chains; pgbox.free_layers() then looks again at the few that are left.
    layers := pgbox.free_layers(ARRAY(
        (SELECT l.id FROM pgbox.layer l
         EXCEPT
         SELECT unnest(s.layers) FROM pgbox.sandbox s WHERE s.deleted_at IS NULL
         EXCEPT
         SELECT unnest(n.layers) FROM pgbox.snapshot n
         EXCEPT
         SELECT unnest(i.layers) FROM pgbox.image i
         EXCEPT
         SELECT d.base_layer FROM pgbox.schema_digest d)
         LIMIT p_limit));

    -- First the clock starts: a run on an older version may still read what the newest no longer has.
    UPDATE pgbox.blob b SET idle_since = clock_timestamp()
     WHERE b.idle_since IS NULL
       AND b.sha256 IN (
           SELECT i.sha256 FROM pgbox.blob i
            WHERE i.idle_since IS NULL AND NOT EXISTS (SELECT FROM pgbox.chunk c WHERE c.sha256 = i.sha256)
            LIMIT p_limit
              FOR NO KEY UPDATE SKIP LOCKED);

    -- Then those idle for long enough are locked. fs.apply holds what it refers to FOR KEY SHARE until it
    -- commits, so whatever can be locked is either settled by now or waits for us.
    v_old := ARRAY(
        SELECT b.sha256 FROM pgbox.blob b
         WHERE b.idle_since <= clock_timestamp() - p_grace
         LIMIT p_limit
           FOR UPDATE SKIP LOCKED);
    -- And only then, with a snapshot younger than the locks, is it decided what is still idle.
    UPDATE pgbox.blob b SET idle_since = NULL
     WHERE b.sha256 = ANY (v_old) AND EXISTS (SELECT FROM pgbox.chunk c WHERE c.sha256 = b.sha256);
    WITH gone AS (
        DELETE FROM pgbox.blob b
         WHERE b.sha256 = ANY (v_old) AND NOT EXISTS (SELECT FROM pgbox.chunk c WHERE c.sha256 = b.sha256)
        RETURNING b.size
    )
    SELECT count(*), coalesce(sum(g.size), 0) INTO blobs, bytes FROM gone g;
    RETURN NEXT;
END
$$;

ALTER FUNCTION fs.gc(interval, integer) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION fs.gc(interval, integer) IS
    'Deletes layers nobody stands on, and contents that nothing has referred to for p_grace; at most p_limit of each. Returns what went. Runs beside everything else, in READ COMMITTED.';
