CREATE FUNCTION pgbox.seal(p_sandbox pgbox.sandbox) RETURNS pgbox.sandbox
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_layers uuid[] := p_sandbox.layers;
BEGIN
    p_sandbox := pgbox.seal_top(p_sandbox);
    IF p_sandbox.layers = v_layers THEN
        RETURN p_sandbox;
    END IF;
    -- What can be redone stays so.
    IF p_sandbox.undone_version = p_sandbox.version THEN
        p_sandbox.undone_version := p_sandbox.version + 1;
    END IF;
    p_sandbox.version := p_sandbox.version + 1;
    UPDATE pgbox.sandbox s
       SET layers = p_sandbox.layers, version = p_sandbox.version, undone_version = p_sandbox.undone_version
     WHERE s.id = p_sandbox.id;
    RETURN p_sandbox;
END
$$;

ALTER FUNCTION pgbox.seal(pgbox.sandbox) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION pgbox.seal(pgbox.sandbox) IS
    'Is pgbox.seal_top() as a version of its own. Returns the row as it is now.';
