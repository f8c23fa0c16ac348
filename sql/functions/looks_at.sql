CREATE FUNCTION pgbox.looks_at(p_layers uuid[], p_path text) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF pgbox.obstacle(p_layers, p_path) IS NOT NULL THEN
        RETURN NULL;
    END IF;
    RETURN (SELECT d.looks FROM pgbox.describe_inodes(p_layers, ARRAY[(pgbox.walk(p_layers, p_path, 'nofollow', NULL)).ino]) d);
END
$$;

COMMENT ON FUNCTION pgbox.looks_at(uuid[], text) IS
    'The text of pgbox.describe_inodes() for what is at a path, without following any symlink; NULL when there is nothing.';
