CREATE FUNCTION pgbox.fsck_all() RETURNS SETOF fs.fault
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_scope text := current_setting('app.sandbox_id', true);
    v_id    uuid;
BEGIN
    FOR v_id IN
        SELECT s.id FROM pgbox.sandbox s
         WHERE s.deleted_at IS NULL AND (s.expires_at IS NULL OR s.expires_at > clock_timestamp())
         ORDER BY s.id
    LOOP
        PERFORM set_config('app.sandbox_id', v_id::text, true);
        RETURN QUERY SELECT f.* FROM fs.fsck() f;
    END LOOP;
    PERFORM set_config('app.sandbox_id', coalesce(v_scope, ''), true);
END
$$;

ALTER FUNCTION pgbox.fsck_all() OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION pgbox.fsck_all() IS
    'Is fs.fsck() for every sandbox that lives. For maintainers: the gateway cannot call it.';
