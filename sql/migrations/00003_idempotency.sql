-- What was answered to requests that carried an idempotency key, so that a repeat is answered and not done again.

-- +goose Up
CREATE TABLE pgbox.idempotency (
    tenant     text        NOT NULL,
    owner      text        NOT NULL,
    key        text        NOT NULL,
    digest     bytea       NOT NULL,
    result     bytea       NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT idempotency_pkey PRIMARY KEY (tenant, owner, key),
    CONSTRAINT idempotency_key_check CHECK (length(key) BETWEEN 1 AND 300),
    CONSTRAINT idempotency_digest_check CHECK (octet_length(digest) = 32)
);
COMMENT ON TABLE pgbox.idempotency IS 'Answers by idempotency key, for a day. A row is written in the transaction of the change it tells of.';
COMMENT ON COLUMN pgbox.idempotency.digest IS 'sha256 of the request: the same key with another request is refused.';
CREATE INDEX idempotency_created_at_idx ON pgbox.idempotency (created_at);

ALTER TABLE pgbox.idempotency OWNER TO pgbox_owner;
ALTER TABLE pgbox.idempotency ENABLE ROW LEVEL SECURITY;
ALTER TABLE pgbox.idempotency FORCE ROW LEVEL SECURITY;
CREATE POLICY idempotency_maintainer ON pgbox.idempotency TO pgbox_maintainer USING (true) WITH CHECK (true);
CREATE POLICY idempotency_auditor ON pgbox.idempotency FOR SELECT TO pgbox_auditor USING (true);
