CREATE FUNCTION pgbox.begin_restore(p_sandbox uuid, p_top uuid) RETURNS void
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- A dump says ON CONFLICT DO NOTHING, for what sandboxes share: it would mix two states of one sandbox, or of one top layer.
    IF EXISTS (SELECT FROM pgbox.sandbox s WHERE s.id = p_sandbox) THEN
        PERFORM pgbox.raise_errno('EEXIST', 'restore sandbox', p_sandbox::text);
    END IF;
    IF EXISTS (SELECT FROM pgbox.layer l WHERE l.id = p_top) THEN
        PERFORM pgbox.raise_errno('EEXIST', 'restore layer', p_top::text);
    END IF;
END
$$;

ALTER FUNCTION pgbox.begin_restore(uuid, uuid) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION pgbox.begin_restore(uuid, uuid) IS
    'Goes before the rows of a dumped sandbox. EEXIST when this database has or ever had a sandbox with this id (ids are never used again), or has its top layer.';
