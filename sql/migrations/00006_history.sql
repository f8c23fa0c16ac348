-- What an auditor asks: who ran what, with which outcome, and what each file held before and after.

-- +goose Up
ALTER TABLE pgbox.exec
    ADD COLUMN tenant          text NOT NULL DEFAULT '',
    ADD COLUMN error           text,
    ADD COLUMN idempotency_key text;
COMMENT ON COLUMN pgbox.exec.error IS 'Code of what ended the run from outside or kept it from being committed (EXEC_TIMEOUT, ESTALE, …); NULL when it came to its own end.';
COMMENT ON COLUMN pgbox.exec.exit_code IS 'NULL for a verb that is no script.';
-- Rows come in the order of time, more or less, so an index of a few pages finds the oldest.
CREATE INDEX exec_started_at_idx ON pgbox.exec USING brin (started_at);

ALTER TABLE pgbox.change
    ADD COLUMN size_before bigint,
    ADD COLUMN size_after  bigint,
    ADD COLUMN hash_before bytea,
    ADD COLUMN hash_after  bytea;
COMMENT ON COLUMN pgbox.change.hash_before IS 'Content hash (pgbox.content_hash) of the regular file before the version; NULL when there was none, or it had more than 64 MiB.';
COMMENT ON COLUMN pgbox.change.hash_after IS 'Content hash of the regular file in the version; NULL when it is gone, or has more than 64 MiB.';
CREATE INDEX change_at_idx ON pgbox.change USING brin (at);
-- Equality is all that is asked, and a hash of four bytes costs an ingest the least.
CREATE INDEX change_path_idx ON pgbox.change USING hash (path);
CREATE INDEX change_path_to_idx ON pgbox.change USING hash (path_to) WHERE path_to IS NOT NULL;
CREATE INDEX change_hash_before_idx ON pgbox.change USING hash (hash_before) WHERE hash_before IS NOT NULL;
CREATE INDEX change_hash_after_idx ON pgbox.change USING hash (hash_after) WHERE hash_after IS NOT NULL;

ALTER TABLE pgbox.sandbox ADD COLUMN journal boolean NOT NULL DEFAULT true;
COMMENT ON COLUMN pgbox.sandbox.journal IS 'Whether file operations are written to pgbox.change. Without them there is no history, and events name versions only.';
