-- A rolling upgrade: gateways of the release before serve on until they are replaced, when the functions that they call are all still there.

-- +goose Up
ALTER TABLE pgbox.schema_digest ADD COLUMN serves text[] NOT NULL DEFAULT '{}';
COMMENT ON COLUMN pgbox.schema_digest.serves IS 'Digests of other releases whose gateways may serve this database.';
