CREATE FUNCTION fs.drop_snapshot(p_sandbox uuid, p_snapshot uuid) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_sandbox pgbox.sandbox := pgbox.lock_sandbox(p_sandbox);
    v_layers  uuid[];
BEGIN
    DELETE FROM pgbox.snapshot n WHERE n.id = p_snapshot AND n.sandbox_id = p_sandbox RETURNING n.layers INTO v_layers;
    IF v_layers IS NULL THEN
        PERFORM pgbox.raise_errno('ENOENT', 'drop_snapshot', p_snapshot::text);
    END IF;
    PERFORM pgbox.free_layers(v_layers);
    PERFORM pgbox.log_verb(p_sandbox, v_sandbox.tenant, 'snapshot rm ' || p_snapshot, v_sandbox.version, v_sandbox.version);
END
$$;

ALTER FUNCTION fs.drop_snapshot(uuid, uuid) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION fs.drop_snapshot(uuid, uuid) IS
    'Removes a snapshot of a sandbox and frees the layers that only it used. ENOENT when there is no such snapshot.';
