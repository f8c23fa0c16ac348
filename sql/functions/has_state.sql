CREATE FUNCTION pgbox.has_state(p_sha256 bytea) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN EXISTS (SELECT FROM pgbox.sandbox s WHERE s.state_sha256 = p_sha256 AND s.deleted_at IS NULL)
        OR EXISTS (SELECT FROM pgbox.snapshot n WHERE n.state_sha256 = p_sha256)
        OR EXISTS (SELECT FROM pgbox.image i WHERE i.state_sha256 = p_sha256);
END
$$;

ALTER FUNCTION pgbox.has_state(bytea) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION pgbox.has_state(bytea) IS
    'Whether a living sandbox, a snapshot or an image refers to a shell state, as the calling statement sees it.';
