CREATE FUNCTION fs.drop_snapshot(p_sandbox uuid, p_snapshot uuid) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_layers uuid[];
BEGIN
    PERFORM pgbox.lock_sandbox(p_sandbox);
    DELETE FROM pgbox.snapshot n WHERE n.id = p_snapshot AND n.sandbox_id = p_sandbox RETURNING n.layers INTO v_layers;
    IF v_layers IS NULL THEN
        PERFORM pgbox.raise_errno(2, 'drop_snapshot', p_snapshot::text);
    END IF;
    PERFORM pgbox.free_layers(v_layers);
END
$$;

ALTER FUNCTION fs.drop_snapshot(uuid, uuid) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION fs.drop_snapshot(uuid, uuid) IS
    'Forgets a snapshot of a sandbox and frees the layers only it used (VF002 when there is none).';
