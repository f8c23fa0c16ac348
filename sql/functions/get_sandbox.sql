CREATE FUNCTION fs.get_sandbox(p_sandbox uuid) RETURNS SETOF fs.sandbox
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT v.* FROM fs.sandbox v
     WHERE v.id = p_sandbox AND v.deleted_at IS NULL AND (v.expires_at IS NULL OR v.expires_at > clock_timestamp());
    IF NOT FOUND THEN
        PERFORM pgbox.raise_errno(3, 'get_sandbox', p_sandbox::text);
    END IF;
END
$$;

ALTER FUNCTION fs.get_sandbox(uuid) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION fs.get_sandbox(uuid) IS
    'The row of one living sandbox. VF003 when it is missing, dropped or expired.';
