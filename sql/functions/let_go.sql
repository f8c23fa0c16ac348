CREATE FUNCTION pgbox.let_go(p_sha256 bytea[]) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    INSERT INTO pgbox.loose_blob (sha256) SELECT u.sha256 FROM unnest(p_sha256) AS u (sha256);
END
$$;

ALTER FUNCTION pgbox.let_go(bytea[]) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION pgbox.let_go(bytea[]) IS
    'Tells fs.gc about blobs that may have no reference left.';
