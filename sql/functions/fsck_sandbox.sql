CREATE FUNCTION fs.fsck_sandbox(p_sandbox uuid) RETURNS SETOF fs.fault
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM pgbox.enter_sandbox_read(p_sandbox);
    RETURN QUERY SELECT f.* FROM fs.fsck() f;
END
$$;

ALTER FUNCTION fs.fsck_sandbox(uuid) OWNER TO pgbox_owner;

COMMENT ON FUNCTION fs.fsck_sandbox(uuid) IS
    'Is fs.fsck() for a sandbox that the caller names.';
