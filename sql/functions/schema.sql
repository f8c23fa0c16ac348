CREATE FUNCTION fs.schema() RETURNS TABLE (version bigint, digest text, fingerprint text, base_layer uuid, serves text[])
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT (SELECT max(m.version_id) FROM pgbox.migration m WHERE m.is_applied), d.digest, d.fingerprint, d.base_layer, d.serves
      FROM pgbox.schema_digest d;
END
$$;

ALTER FUNCTION fs.schema() OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION fs.schema() IS
    'The schema of this database: its versioned migration, the digest of the repeatable files, the fingerprint of the objects they made, and the digests of other releases whose gateways it serves.';
