CREATE FUNCTION pgbox.drop_locked(p_sandbox pgbox.sandbox) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_layers uuid[];
BEGIN
    WITH gone AS (
        DELETE FROM pgbox.snapshot n WHERE n.sandbox_id = p_sandbox.id RETURNING n.layers
    )
    SELECT array_agg(DISTINCT u.id) INTO v_layers FROM gone g, unnest(g.layers) AS u (id);
    UPDATE pgbox.sandbox s SET deleted_at = clock_timestamp(), version = s.version + 1 WHERE s.id = p_sandbox.id;
    PERFORM pgbox.free_layers(p_sandbox.layers || v_layers);
    PERFORM pgbox.log_verb(p_sandbox.id, p_sandbox.tenant, 'drop', p_sandbox.version, p_sandbox.version + 1);
END
$$;

ALTER FUNCTION pgbox.drop_locked(pgbox.sandbox) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION pgbox.drop_locked(pgbox.sandbox) IS
    'Drops a sandbox whose row is locked. Its snapshots and the layers that only they used go; the row and the audit log stay.';
