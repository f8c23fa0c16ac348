CREATE FUNCTION fs.base_layer() RETURNS uuid
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN (SELECT d.base_layer FROM pgbox.schema_digest d);
END
$$;

COMMENT ON FUNCTION fs.base_layer() IS
    'The sealed layer that new sandboxes stand on.';
