CREATE FUNCTION pgbox.vacant(p_layers uuid[], p_path text, p_op text, p_is_dir boolean, OUT dir bigint, OUT name text, OUT path text)
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v record;
BEGIN
    v := pgbox.walk(p_layers, p_path, 'parent', p_op);
    IF v.ino IS NOT NULL THEN
        PERFORM pgbox.raise_errno('EEXIST', p_op, p_path);
    ELSIF v.slash AND NOT p_is_dir THEN
        PERFORM pgbox.raise_errno('ENOENT', p_op, p_path);
    END IF;
    dir := v.dir;
    name := v.name;
    path := v.path;
END
$$;

COMMENT ON FUNCTION pgbox.vacant(uuid[], text, text, boolean) IS
    'Finds the place of a new name as Linux does: EEXIST for what exists and for ".", ".." and "/"; a trailing slash is for directories only.';
