-- States of shells have a queue as contents and layers have, so that fs.gc looks at those that somebody has let go of.

-- +goose Up
CREATE TABLE pgbox.loose_state (sha256 bytea NOT NULL);
COMMENT ON TABLE pgbox.loose_state IS 'States of shells that a sandbox, snapshot or image had and that fs.gc has not looked at since. A queue, as loose_blob is.';
ALTER TABLE pgbox.loose_state SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
ALTER TABLE pgbox.loose_state OWNER TO pgbox_owner;
ALTER TABLE pgbox.loose_state ENABLE ROW LEVEL SECURITY;
ALTER TABLE pgbox.loose_state FORCE ROW LEVEL SECURITY;
CREATE POLICY loose_state_maintainer ON pgbox.loose_state TO pgbox_maintainer USING (true) WITH CHECK (true);
CREATE POLICY loose_state_auditor ON pgbox.loose_state FOR SELECT TO pgbox_auditor USING (true);

-- What was garbage before this migration. Policies bind the owner, not the maintainer.
GRANT SELECT ON pgbox.shell_state, pgbox.sandbox, pgbox.snapshot, pgbox.image TO pgbox_maintainer;
GRANT INSERT ON pgbox.loose_state TO pgbox_maintainer;
SET LOCAL ROLE pgbox_maintainer;
INSERT INTO pgbox.loose_state (sha256)
SELECT t.sha256 FROM pgbox.shell_state t WHERE t.idle_since IS NULL
EXCEPT
SELECT s.state_sha256 FROM pgbox.sandbox s WHERE s.deleted_at IS NULL
EXCEPT
SELECT n.state_sha256 FROM pgbox.snapshot n
EXCEPT
SELECT i.state_sha256 FROM pgbox.image i;
RESET ROLE;
