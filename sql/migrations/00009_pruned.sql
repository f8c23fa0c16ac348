-- Who follows a journal learns that its beginning is gone.

-- +goose Up
ALTER TABLE pgbox.sandbox ADD COLUMN pruned_version bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN pgbox.sandbox.pruned_version IS 'fs.prune() has removed operations of this version and of those before it from the journal; 0: it has removed none.';
