CREATE FUNCTION pgbox.looks_at(p_layers uuid[], p_path text) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_ino bigint := (pgbox.walk(p_layers, p_path, 'nofollow', NULL)).ino;
BEGIN
    RETURN (SELECT d.looks FROM pgbox.describe_inodes(p_layers, ARRAY[v_ino]) d);
END
$$;

COMMENT ON FUNCTION pgbox.looks_at(uuid[], text) IS
    'Is pgbox.describe_inodes() of what is at a path: NULL when there is nothing.';
