-- How much the sandboxes of an owner, or of a tenant, may hold together.

-- +goose Up
CREATE TABLE pgbox.quota (
    tenant        text   NOT NULL,
    owner         text   NOT NULL DEFAULT '',
    max_bytes     bigint,
    max_inodes    bigint,
    max_snapshots bigint,
    max_sandboxes bigint,
    CONSTRAINT quota_pkey PRIMARY KEY (tenant, owner),
    CONSTRAINT quota_limits_check CHECK (max_bytes >= 0 AND max_inodes >= 0 AND max_snapshots >= 0 AND max_sandboxes >= 0)
);
COMMENT ON TABLE pgbox.quota IS 'Limits of all sandboxes of an owner together, or (owner '''') of a tenant. NULL: no limit.';

ALTER TABLE pgbox.quota OWNER TO pgbox_owner;
ALTER TABLE pgbox.quota ENABLE ROW LEVEL SECURITY;
ALTER TABLE pgbox.quota FORCE ROW LEVEL SECURITY;
CREATE POLICY quota_maintainer ON pgbox.quota TO pgbox_maintainer USING (true) WITH CHECK (true);
CREATE POLICY quota_auditor ON pgbox.quota FOR SELECT TO pgbox_auditor USING (true);

ALTER TABLE pgbox.sandbox ADD COLUMN max_snapshots bigint;
