CREATE FUNCTION fs.snapshots(p_sandbox uuid) RETURNS SETOF fs.snapshot
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM pgbox.enter_sandbox_read(p_sandbox);
    RETURN QUERY
    SELECT v.* FROM fs.snapshot v WHERE v.sandbox_id = p_sandbox AND v.kind <> 'base' ORDER BY v.created_at, v.version, v.id;
END
$$;

COMMENT ON FUNCTION fs.snapshots(uuid) IS
    'The snapshots of a sandbox, named and automatic, oldest first.';
