-- What may be garbage, so that fs.gc looks at that and not at everything that is alive: whatever lets go of a
-- content or a layer writes its name here, in its own transaction.

-- +goose Up
CREATE TABLE pgbox.loose_blob (sha256 bytea NOT NULL);
COMMENT ON TABLE pgbox.loose_blob IS 'Contents that a chunk referred to, or that were stored ahead of one, and that fs.gc has not looked at since. A queue: a content may be in it more than once, and may be in use.';
CREATE TABLE pgbox.loose_layer (layer_id uuid NOT NULL);
COMMENT ON TABLE pgbox.loose_layer IS 'Layers that a sandbox, snapshot or image stood on and that fs.gc has not looked at since. A queue, as loose_blob is.';

-- Rows come and go: what is dead is a cost for whoever looks for the first that are not.
ALTER TABLE pgbox.loose_blob SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
ALTER TABLE pgbox.loose_layer SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- +goose StatementBegin
DO $$
DECLARE
    v_table text;
BEGIN
    FOREACH v_table IN ARRAY ARRAY['loose_blob', 'loose_layer'] LOOP
        EXECUTE format('ALTER TABLE pgbox.%I OWNER TO pgbox_owner', v_table);
        EXECUTE format('ALTER TABLE pgbox.%I ENABLE ROW LEVEL SECURITY', v_table);
        EXECUTE format('ALTER TABLE pgbox.%I FORCE ROW LEVEL SECURITY', v_table);
        EXECUTE format('CREATE POLICY %I ON pgbox.%I TO pgbox_maintainer USING (true) WITH CHECK (true)', v_table || '_maintainer', v_table);
        EXECUTE format('CREATE POLICY %I ON pgbox.%I FOR SELECT TO pgbox_auditor USING (true)', v_table || '_auditor', v_table);
    END LOOP;
END
$$;
-- +goose StatementEnd

-- What was garbage before this migration. Policies bind the owner, not the maintainer.
GRANT SELECT ON pgbox.blob, pgbox.chunk, pgbox.layer, pgbox.sandbox, pgbox.snapshot, pgbox.image TO pgbox_maintainer;
GRANT INSERT ON pgbox.loose_blob, pgbox.loose_layer TO pgbox_maintainer;
SET LOCAL ROLE pgbox_maintainer;
INSERT INTO pgbox.loose_blob (sha256)
SELECT b.sha256 FROM pgbox.blob b WHERE b.idle_since IS NULL AND NOT EXISTS (SELECT FROM pgbox.chunk c WHERE c.sha256 = b.sha256);
INSERT INTO pgbox.loose_layer (layer_id)
SELECT l.id FROM pgbox.layer l
EXCEPT
SELECT unnest(s.layers) FROM pgbox.sandbox s WHERE s.deleted_at IS NULL
EXCEPT
SELECT unnest(n.layers) FROM pgbox.snapshot n
EXCEPT
SELECT unnest(i.layers) FROM pgbox.image i;
RESET ROLE;
