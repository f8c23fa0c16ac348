CREATE FUNCTION fs.drop_sandbox(p_sandbox uuid) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM pgbox.drop_locked(pgbox.lock_sandbox(p_sandbox));
END
$$;

ALTER FUNCTION fs.drop_sandbox(uuid) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION fs.drop_sandbox(uuid) IS
    'Drops a sandbox and its snapshots; its forks live on. The id is never used again, and the audit log stays.';
