-- A trigger, because nothing that leaves a layer (a drop, a restore, a merge of layers, an automatic snapshot that makes room) gets past it.
CREATE FUNCTION pgbox.let_go_layers() RETURNS trigger
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    INSERT INTO pgbox.loose_layer (layer_id)
    SELECT u.id FROM unnest(OLD.layers) AS u (id)
    EXCEPT
    SELECT b.base_layer FROM pgbox.schema_digest b;
    RETURN NULL;
END
$$;

ALTER FUNCTION pgbox.let_go_layers() OWNER TO pgbox_maintainer;

CREATE TRIGGER sandbox_let_go AFTER UPDATE OF layers, deleted_at ON pgbox.sandbox FOR EACH ROW
    WHEN (NOT OLD.layers <@ NEW.layers OR NEW.deleted_at IS NOT NULL) EXECUTE FUNCTION pgbox.let_go_layers();
CREATE TRIGGER snapshot_let_go AFTER DELETE ON pgbox.snapshot FOR EACH ROW EXECUTE FUNCTION pgbox.let_go_layers();
CREATE TRIGGER image_let_go AFTER DELETE OR UPDATE OF layers ON pgbox.image FOR EACH ROW EXECUTE FUNCTION pgbox.let_go_layers();

COMMENT ON FUNCTION pgbox.let_go_layers() IS
    'Tells fs.gc which layers have lost a sandbox, snapshot or image that stood on them.';
