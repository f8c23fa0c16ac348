-- The state of shells is stored by content: sandboxes, snapshots and images that have the same name it by its hash.

-- +goose Up
CREATE TABLE pgbox.shell_state (
    sha256     bytea       NOT NULL,
    state      jsonb       NOT NULL,
    size       integer     NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    idle_since timestamptz,
    CONSTRAINT shell_state_pkey PRIMARY KEY (sha256),
    CONSTRAINT shell_state_sha256_check CHECK (octet_length(sha256) = 32)
);
COMMENT ON TABLE pgbox.shell_state IS 'Working directory, exported variables and what else a shell hands on to the next, by the SHA-256 of its text.';
COMMENT ON COLUMN pgbox.shell_state.idle_since IS 'When fs.gc first found that nobody has this state; it goes after a grace period, because a run may have read the name and not yet the state.';
CREATE INDEX shell_state_idle_since_idx ON pgbox.shell_state (idle_since) WHERE idle_since IS NOT NULL;

ALTER TABLE pgbox.shell_state OWNER TO pgbox_owner;
ALTER TABLE pgbox.shell_state ENABLE ROW LEVEL SECURITY;
ALTER TABLE pgbox.shell_state FORCE ROW LEVEL SECURITY;
CREATE POLICY shell_state_maintainer ON pgbox.shell_state TO pgbox_maintainer USING (true) WITH CHECK (true);
CREATE POLICY shell_state_auditor ON pgbox.shell_state FOR SELECT TO pgbox_auditor USING (true);
-- As with blobs: a state belongs to no scope, whoever knows its hash may name it; the UPDATE policy is what FOR KEY SHARE needs.
CREATE POLICY shell_state_select ON pgbox.shell_state FOR SELECT TO pgbox_owner USING (true);
CREATE POLICY shell_state_insert ON pgbox.shell_state FOR INSERT TO pgbox_owner WITH CHECK (true);
CREATE POLICY shell_state_lock ON pgbox.shell_state FOR UPDATE TO pgbox_owner USING (true) WITH CHECK (false);

ALTER TABLE pgbox.sandbox ADD COLUMN state_sha256 bytea;
ALTER TABLE pgbox.snapshot ADD COLUMN state_sha256 bytea;
ALTER TABLE pgbox.image ADD COLUMN state_sha256 bytea;
CREATE POLICY shell_state_dump ON pgbox.shell_state FOR SELECT TO pgbox_dump
    USING (sha256 IN (SELECT s.state_sha256 FROM pgbox.sandbox s UNION SELECT n.state_sha256 FROM pgbox.snapshot n));
COMMENT ON COLUMN pgbox.sandbox.state_sha256 IS 'Names the state of the shell (pgbox.shell_state); NULL: a fresh one.';

-- Policies bind the owner, not the maintainer.
GRANT SELECT, UPDATE ON pgbox.sandbox, pgbox.snapshot, pgbox.image TO pgbox_maintainer;
GRANT SELECT, INSERT ON pgbox.shell_state TO pgbox_maintainer;
SET LOCAL ROLE pgbox_maintainer;
INSERT INTO pgbox.shell_state (sha256, state, size)
SELECT sha256(convert_to(o.state::text, 'UTF8')), o.state, octet_length(o.state::text)
  FROM (SELECT s.shell_state AS state FROM pgbox.sandbox s
        UNION SELECT n.shell_state FROM pgbox.snapshot n
        UNION SELECT i.shell_state FROM pgbox.image i) o
 WHERE o.state <> '{}';
UPDATE pgbox.sandbox SET state_sha256 = sha256(convert_to(shell_state::text, 'UTF8')) WHERE shell_state <> '{}';
UPDATE pgbox.snapshot SET state_sha256 = sha256(convert_to(shell_state::text, 'UTF8')) WHERE shell_state <> '{}';
UPDATE pgbox.image SET state_sha256 = sha256(convert_to(shell_state::text, 'UTF8')) WHERE shell_state <> '{}';
-- Large states count now. In a sandbox that is over a limit by that, nothing grows until there is room.
UPDATE pgbox.sandbox s SET used_bytes = s.used_bytes + t.size FROM pgbox.shell_state t WHERE t.sha256 = s.state_sha256 AND t.size > 4096;
UPDATE pgbox.snapshot n SET used_bytes = n.used_bytes + t.size FROM pgbox.shell_state t WHERE t.sha256 = n.state_sha256 AND t.size > 4096;
UPDATE pgbox.image i SET used_bytes = i.used_bytes + t.size FROM pgbox.shell_state t WHERE t.sha256 = i.state_sha256 AND t.size > 4096;
RESET ROLE;
-- The views that show it are made anew.
ALTER TABLE pgbox.sandbox DROP COLUMN shell_state CASCADE;
ALTER TABLE pgbox.snapshot DROP COLUMN shell_state CASCADE;
ALTER TABLE pgbox.image DROP COLUMN shell_state CASCADE;

-- Who has a state: four bytes an entry.
CREATE INDEX sandbox_state_idx ON pgbox.sandbox USING hash (state_sha256) WHERE state_sha256 IS NOT NULL;
CREATE INDEX snapshot_state_idx ON pgbox.snapshot USING hash (state_sha256) WHERE state_sha256 IS NOT NULL;
CREATE INDEX image_state_idx ON pgbox.image USING hash (state_sha256) WHERE state_sha256 IS NOT NULL;
