CREATE FUNCTION pgbox.obstacle(p_layers uuid[], p_path text) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_parts text[] := array_remove(string_to_array(p_path, '/'), '');
    v_dir   bigint := 1;
BEGIN
    FOR i IN 1..coalesce(cardinality(v_parts), 0) - 1 LOOP
        v_dir := pgbox.lookup(p_layers, v_dir, v_parts[i]);
        IF v_dir IS NULL THEN
            RETURN NULL;
        ELSIF (pgbox.inode_of(p_layers, v_dir)).kind <> pgbox.kind('dir') THEN
            RETURN '/' || array_to_string(v_parts[:i], '/');
        END IF;
    END LOOP;
    RETURN NULL;
END
$$;

COMMENT ON FUNCTION pgbox.obstacle(uuid[], text) IS
    'The first directory part of a path that exists and is not a directory: a symlink, which is not followed, or a file. NULL when there is none.';
