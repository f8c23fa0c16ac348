CREATE FUNCTION fs.list_images(p_tenant text, p_name text DEFAULT NULL) RETURNS SETOF fs.image
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT v.* FROM fs.image v
     WHERE v.tenant = p_tenant AND (p_name IS NULL OR v.name = p_name)
     ORDER BY v.name COLLATE "C", v.created_at DESC, v.tag COLLATE "C";
END
$$;

ALTER FUNCTION fs.list_images(text, text) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION fs.list_images(text, text) IS
    'The images of a tenant, or those of one name; within a name the newest first.';
