CREATE FUNCTION pgbox.raise_errno(p_errno text, p_op text, p_path text) RETURNS void
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_errno record;
BEGIN
    SELECT e.* INTO STRICT v_errno FROM fs.errnos() e WHERE e.name = p_errno;
    RAISE EXCEPTION USING
        ERRCODE = v_errno.sqlstate,
        MESSAGE = format('%s %s: %s: %s', p_op, coalesce('"' || p_path || '"', '-'), v_errno.name, v_errno.message);
END
$$;

COMMENT ON FUNCTION pgbox.raise_errno(text, text, text) IS
    'Raises an error of the filesystem by its name in fs.errnos(). The one place where they are raised.';
