-- A verb that is made of many operations leads to one version.

-- +goose Up
ALTER TABLE pgbox.sandbox ADD COLUMN open_version bigint;
COMMENT ON COLUMN pgbox.sandbox.open_version IS 'The version that every operation of the running transaction leads to, while a verb of several (fs.merge) is at work, which writes the journal itself. NULL in every row that can be seen.';
