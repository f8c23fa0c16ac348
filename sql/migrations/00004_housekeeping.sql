-- When the database was last tidied up, so that of many gateways one does it, and not more often than one alone would.

-- +goose Up
CREATE TABLE pgbox.housekeeping (
    singleton boolean     NOT NULL DEFAULT true,
    done_at   timestamptz NOT NULL DEFAULT '-infinity',
    CONSTRAINT housekeeping_pkey PRIMARY KEY (singleton),
    CONSTRAINT housekeeping_singleton_check CHECK (singleton)
);
COMMENT ON TABLE pgbox.housekeeping IS 'One row. Whoever has it locked is the one that tidies up; done_at is when that was last done to the end.';
INSERT INTO pgbox.housekeeping DEFAULT VALUES;

ALTER TABLE pgbox.housekeeping OWNER TO pgbox_owner;
ALTER TABLE pgbox.housekeeping ENABLE ROW LEVEL SECURITY;
ALTER TABLE pgbox.housekeeping FORCE ROW LEVEL SECURITY;
CREATE POLICY housekeeping_maintainer ON pgbox.housekeeping TO pgbox_maintainer USING (true) WITH CHECK (true);
CREATE POLICY housekeeping_auditor ON pgbox.housekeeping FOR SELECT TO pgbox_auditor USING (true);
