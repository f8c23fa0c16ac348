-- A trigger, because nothing that takes a state away (a commit, a drop, a restore, a snapshot that goes) gets past it.
CREATE FUNCTION pgbox.let_go_state() RETURNS trigger
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    INSERT INTO pgbox.loose_state (sha256) VALUES (OLD.state_sha256);
    RETURN NULL;
END
$$;

ALTER FUNCTION pgbox.let_go_state() OWNER TO pgbox_maintainer;

CREATE TRIGGER sandbox_let_go_state AFTER UPDATE OF state_sha256, deleted_at ON pgbox.sandbox FOR EACH ROW
    WHEN (OLD.state_sha256 IS NOT NULL AND (OLD.state_sha256 IS DISTINCT FROM NEW.state_sha256 OR NEW.deleted_at IS NOT NULL))
    EXECUTE FUNCTION pgbox.let_go_state();
CREATE TRIGGER snapshot_let_go_state AFTER DELETE OR UPDATE OF state_sha256 ON pgbox.snapshot FOR EACH ROW
    WHEN (OLD.state_sha256 IS NOT NULL) EXECUTE FUNCTION pgbox.let_go_state();
CREATE TRIGGER image_let_go_state AFTER DELETE OR UPDATE OF state_sha256 ON pgbox.image FOR EACH ROW
    WHEN (OLD.state_sha256 IS NOT NULL) EXECUTE FUNCTION pgbox.let_go_state();

COMMENT ON FUNCTION pgbox.let_go_state() IS
    'Tells fs.gc which shell state has lost a sandbox, snapshot or image that had it.';
