-- What is appended to a content is stored without it, contents carry no date, and tables whose rows come and go are vacuumed sooner.

-- +goose Up
ALTER TABLE pgbox.blob
    DROP COLUMN created_at,
    ADD COLUMN base bytea,
    DROP CONSTRAINT blob_size_check,
    ADD CONSTRAINT blob_size_check CHECK (size BETWEEN 1 AND 65536 AND
        CASE WHEN base IS NULL THEN size = octet_length(data) ELSE octet_length(data) BETWEEN 1 AND size - 1 END);
COMMENT ON COLUMN pgbox.blob.base IS 'The content that this one begins with; data is what follows. NULL: data is all. A base is always shorter, and stays as long as something is based on it.';
-- Who is based on a content.
CREATE INDEX blob_base_idx ON pgbox.blob USING hash (base) WHERE base IS NOT NULL;

-- What a dump must hold beside the contents that chunks name. A policy cannot ask its own table.
-- +goose StatementBegin
CREATE FUNCTION pgbox.dump_bases() RETURNS bytea[]
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_layers uuid[] := pgbox.dump_layers();
BEGIN
    RETURN ARRAY(
        WITH RECURSIVE tail (base) AS (
            SELECT b.base
              FROM pgbox.blob b
             WHERE b.base IS NOT NULL AND b.sha256 IN (SELECT c.sha256 FROM pgbox.chunk c WHERE c.layer_id = ANY (v_layers) AND c.sha256 IS NOT NULL)
            UNION
            SELECT b.base FROM tail t JOIN pgbox.blob b ON b.sha256 = t.base WHERE b.base IS NOT NULL
        )
        SELECT t.base FROM tail t);
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION pgbox.dump_bases() IS 'The contents that those of the sandbox in scope are based on.';
ALTER FUNCTION pgbox.dump_bases() OWNER TO pgbox_maintainer;
DROP POLICY blob_dump ON pgbox.blob;
CREATE POLICY blob_dump ON pgbox.blob FOR SELECT TO pgbox_dump
    USING (sha256 IN (SELECT c.sha256 FROM pgbox.chunk c WHERE c.sha256 IS NOT NULL) OR sha256 = ANY ((SELECT pgbox.dump_bases())::bytea[]));

-- By default a fifth of a table may be dead, and of the contents out of line too.
ALTER TABLE pgbox.blob SET (autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_scale_factor = 0.02);
ALTER TABLE pgbox.chunk SET (autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE pgbox.inode SET (autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE pgbox.dirent SET (autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE pgbox.sandbox SET (autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE pgbox.change SET (autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE pgbox.exec SET (autovacuum_vacuum_scale_factor = 0.05);

-- The operations of one version share an entry of the index, which also tells them from those of other versions; seq only puts them in order.
ALTER TABLE pgbox.change DROP CONSTRAINT change_pkey;
CREATE INDEX change_version_idx ON pgbox.change (sandbox_id, version);
