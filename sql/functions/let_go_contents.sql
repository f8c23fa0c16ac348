-- A trigger, because nothing that takes a chunk away or gives it another content (a commit, a verb, a dropped layer) gets past it.
CREATE FUNCTION pgbox.let_go_contents() RETURNS trigger
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    INSERT INTO pgbox.loose_blob (sha256) SELECT o.sha256 FROM before o WHERE o.sha256 IS NOT NULL;
    RETURN NULL;
END
$$;

ALTER FUNCTION pgbox.let_go_contents() OWNER TO pgbox_maintainer;

CREATE TRIGGER chunk_let_go_delete AFTER DELETE ON pgbox.chunk REFERENCING OLD TABLE AS before
    FOR EACH STATEMENT EXECUTE FUNCTION pgbox.let_go_contents();
CREATE TRIGGER chunk_let_go_update AFTER UPDATE ON pgbox.chunk REFERENCING OLD TABLE AS before
    FOR EACH STATEMENT EXECUTE FUNCTION pgbox.let_go_contents();

COMMENT ON FUNCTION pgbox.let_go_contents() IS
    'Tells fs.gc which blobs have lost a chunk that referred to them.';
