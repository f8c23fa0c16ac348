CREATE FUNCTION fs.usage(p_sandbox uuid) RETURNS TABLE (
    version     bigint,
    used_bytes  bigint,
    used_inodes bigint,
    max_bytes   bigint,
    max_inodes  bigint,
    layers      integer,
    snapshots   bigint
)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_sandbox pgbox.sandbox := pgbox.enter_sandbox_read(p_sandbox);
BEGIN
    RETURN QUERY
    SELECT v_sandbox.version, v_sandbox.used_bytes, v_sandbox.used_inodes, coalesce(v_sandbox.max_bytes, 0), coalesce(v_sandbox.max_inodes, 0),
           cardinality(v_sandbox.layers), (SELECT count(*) FROM pgbox.snapshot n WHERE n.sandbox_id = p_sandbox AND n.kind = 'named');
END
$$;

COMMENT ON FUNCTION fs.usage(uuid) IS
    'What a sandbox uses and may use (0: no limit), how many layers it stands on and how many named snapshots it has.';
