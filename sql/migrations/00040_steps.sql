-- What undo and redo need to say what they did, and when a tree came about that something followed which is no change of a file.

-- +goose Up
ALTER TABLE pgbox.sandbox
    ADD COLUMN tree_at       timestamptz,
    ADD COLUMN undone_origin bigint;
COMMENT ON COLUMN pgbox.sandbox.tree_at IS 'When the tree came to be as it is, where only the state of the shell has changed since; NULL: last_used_at.';
COMMENT ON COLUMN pgbox.sandbox.undone_origin IS 'The version that made the tree that the last undo or redo led to; holds while undone_version is the present version.';

ALTER TABLE pgbox.snapshot
    ADD COLUMN origin_version bigint,
    ADD COLUMN since_version  bigint;
COMMENT ON COLUMN pgbox.snapshot.origin_version IS 'The version that made the tree; NULL: version. What undo and redo lead to is older than the version that it becomes.';
COMMENT ON COLUMN pgbox.snapshot.since_version IS 'The step between this snapshot and what follows it is made of the versions after this one; NULL: version.';
