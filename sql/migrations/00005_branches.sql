-- What branches need: images, automatic snapshots with undo and redo, where a fork began, versions of keys, and the way up from an inode to its names.

-- +goose Up

-- The version of the last change of the tree: later ones, up to version, only moved it to other layers.
ALTER TABLE pgbox.sandbox
    ADD COLUMN tree_version    bigint      NOT NULL DEFAULT 0,
    ADD COLUMN undone_version  bigint,
    ADD COLUMN history_commits integer,
    ADD COLUMN history_seconds integer,
    ADD COLUMN history_keep    integer     NOT NULL DEFAULT 100,
    ADD COLUMN history_version bigint      NOT NULL DEFAULT -1,
    ADD COLUMN history_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    ADD CONSTRAINT sandbox_history_check CHECK (history_commits > 0 AND history_seconds >= 0 AND history_keep BETWEEN 1 AND 10000);
UPDATE pgbox.sandbox SET tree_version = version;
COMMENT ON COLUMN pgbox.sandbox.tree_version IS 'The version of the last change of the tree: later ones only moved it to other layers.';
COMMENT ON COLUMN pgbox.sandbox.undone_version IS 'The version that the last undo or redo led to. While it is the present one, there is something to redo.';
COMMENT ON COLUMN pgbox.sandbox.history_commits IS 'A commit takes an automatic snapshot of what it is about to change when the last one is this many versions old. NULL: not for that reason.';
COMMENT ON COLUMN pgbox.sandbox.history_seconds IS 'A commit takes an automatic snapshot of what it is about to change when the last one is this old. NULL: not for that reason.';
COMMENT ON COLUMN pgbox.sandbox.history_keep IS 'How many automatic snapshots are kept.';
COMMENT ON COLUMN pgbox.sandbox.history_version IS 'The version at the last automatic snapshot; -1: there was none.';

ALTER TABLE pgbox.snapshot
    ADD COLUMN kind         text        NOT NULL DEFAULT 'named',
    ADD COLUMN stack        text,
    ADD COLUMN tree_version bigint      NOT NULL DEFAULT 0,
    ADD COLUMN changed_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    ADD CONSTRAINT snapshot_kind_check CHECK (kind IN ('named', 'automatic', 'base')),
    ADD CONSTRAINT snapshot_stack_check CHECK (stack IN ('undo', 'redo'));
UPDATE pgbox.snapshot SET tree_version = version, changed_at = created_at;
COMMENT ON COLUMN pgbox.snapshot.kind IS 'named by somebody; automatic: before a change; base: what a fork or a sandbox of an image started from. The names of the last two begin with @.';
COMMENT ON COLUMN pgbox.snapshot.stack IS 'What the next undo or redo leads to is the newest snapshot of its stack.';
COMMENT ON COLUMN pgbox.snapshot.tree_version IS 'The snapshot is the tree of every version from this one to version.';
COMMENT ON COLUMN pgbox.snapshot.changed_at IS 'When the tree came to be as it is here.';
CREATE INDEX snapshot_version_idx ON pgbox.snapshot (sandbox_id, kind, version);

-- Rows of a sealed layer, by which is decided what is merged when a chain has grown long.
ALTER TABLE pgbox.layer ADD COLUMN row_count bigint;

-- The names of an inode: one entry for each name, in the order in which a layer numbers its inodes.
CREATE INDEX dirent_ino_idx ON pgbox.dirent (layer_id, ino) WHERE ino IS NOT NULL;

ALTER TABLE pgbox.kv ADD COLUMN version bigint NOT NULL DEFAULT 1;
COMMENT ON COLUMN pgbox.kv.version IS 'Grows with every change of the key.';

CREATE TABLE pgbox.image (
    id          uuid        NOT NULL DEFAULT gen_random_uuid(),
    tenant      text        NOT NULL,
    owner       text        NOT NULL,
    name        text        NOT NULL,
    tag         text        NOT NULL,
    layers      uuid[]      NOT NULL,
    next_ino    bigint      NOT NULL,
    used_bytes  bigint      NOT NULL,
    used_inodes bigint      NOT NULL,
    shell_state jsonb       NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT image_pkey PRIMARY KEY (id),
    CONSTRAINT image_name_key UNIQUE (tenant, name, tag),
    CONSTRAINT image_name_check CHECK (name ~ '^[a-z0-9][a-z0-9._/-]{0,127}$'),
    CONSTRAINT image_tag_check CHECK (tag ~ '^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$')
);
COMMENT ON TABLE pgbox.image IS 'Trees that sandboxes start from, by name and tag: sealed layers, which those sandboxes hold themselves.';
CREATE INDEX image_layers_idx ON pgbox.image USING gin (layers);

ALTER TABLE pgbox.image OWNER TO pgbox_owner;
ALTER TABLE pgbox.image ENABLE ROW LEVEL SECURITY;
ALTER TABLE pgbox.image FORCE ROW LEVEL SECURITY;
CREATE POLICY image_maintainer ON pgbox.image TO pgbox_maintainer USING (true) WITH CHECK (true);
CREATE POLICY image_auditor ON pgbox.image FOR SELECT TO pgbox_auditor USING (true);
