CREATE FUNCTION fs.expire(p_limit integer DEFAULT 100) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_sandbox pgbox.sandbox;
    v_count   bigint := 0;
BEGIN
    PERFORM pgbox.need_limit(p_limit, 'expire');
    FOR v_sandbox IN
        SELECT s.* FROM pgbox.sandbox s
         WHERE s.deleted_at IS NULL AND s.expires_at <= clock_timestamp()
         ORDER BY s.expires_at
         LIMIT p_limit
           FOR NO KEY UPDATE SKIP LOCKED
    LOOP
        PERFORM set_config('app.exec', '{"route": "housekeeping", "caller": "pgbox_housekeeper", "script": "expire"}', true);
        PERFORM pgbox.drop_locked(v_sandbox);
        v_count := v_count + 1;
    END LOOP;
    PERFORM set_config('app.exec', '', true);
    DELETE FROM pgbox.idempotency i
     WHERE (i.tenant, i.owner, i.key) IN (
        SELECT o.tenant, o.owner, o.key FROM pgbox.idempotency o
         WHERE o.created_at < clock_timestamp() - interval '1 day'
         ORDER BY o.created_at
         LIMIT p_limit);
    RETURN v_count;
END
$$;

ALTER FUNCTION fs.expire(integer) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION fs.expire(integer) IS
    'Drops up to p_limit expired sandboxes and returns how many. An expired sandbox cannot be reached from the moment it expires; this frees its space. Answers kept under idempotency keys go after a day.';
