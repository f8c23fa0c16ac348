-- The tables of pgbox. Rows of a tree are keyed by layer, not by sandbox: a
-- sandbox is a chain of layers, newest first; all but the top one are sealed
-- (immutable) and may be shared. The effective row for a key is the one in the
-- newest layer that has it.

-- +goose Up
-- The migrator makes schema pgbox itself, because its version table lives there.
CREATE SCHEMA IF NOT EXISTS pgbox;
CREATE SCHEMA fs;

-- One row: which repeatable files (functions, views, grants) this database was built from, and what
-- they came out as. Servers compare it with what they carry.
CREATE TABLE pgbox.schema_digest (
    singleton   boolean     NOT NULL DEFAULT true,
    digest      text        NOT NULL,
    fingerprint text        NOT NULL,
    base_layer  uuid        NOT NULL,
    applied_at  timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT schema_digest_pkey PRIMARY KEY (singleton),
    CONSTRAINT schema_digest_singleton_check CHECK (singleton)
);

CREATE TABLE pgbox.layer (
    id         uuid        NOT NULL DEFAULT gen_random_uuid(),
    created_at timestamptz NOT NULL DEFAULT now(),
    sealed_at  timestamptz,
    CONSTRAINT layer_pkey PRIMARY KEY (id)
);
COMMENT ON TABLE pgbox.layer IS 'A set of changes to a tree. Sealed layers never change again and may be shared by many sandboxes.';

CREATE TABLE pgbox.sandbox (
    id           uuid        NOT NULL DEFAULT gen_random_uuid(),
    tenant       text        NOT NULL DEFAULT 'default',
    owner        text        NOT NULL,
    name         text        NOT NULL,
    layers       uuid[]      NOT NULL,
    next_ino     bigint      NOT NULL,
    version      bigint      NOT NULL DEFAULT 0,
    env          jsonb       NOT NULL DEFAULT '{}',
    config       jsonb       NOT NULL DEFAULT '{}',
    labels       jsonb       NOT NULL DEFAULT '{}',
    max_bytes    bigint,
    max_inodes   bigint,
    used_bytes   bigint      NOT NULL DEFAULT 0,
    used_inodes  bigint      NOT NULL DEFAULT 0,
    shell_state  jsonb       NOT NULL DEFAULT '{}',
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_used_at timestamptz,
    expires_at   timestamptz,
    deleted_at   timestamptz,
    CONSTRAINT sandbox_pkey PRIMARY KEY (id),
    CONSTRAINT sandbox_layers_check CHECK (cardinality(layers) > 0),
    CONSTRAINT sandbox_name_check CHECK (length(name) <= 255),
    CONSTRAINT sandbox_usage_check CHECK (used_bytes >= 0 AND used_inodes >= 0)
) WITH (fillfactor = 50);
COMMENT ON TABLE pgbox.sandbox IS 'One row per sandbox. Every mutation of its tree bumps version in the same transaction. Ids are never reused: dropping a sandbox sets deleted_at.';
CREATE INDEX sandbox_owner_idx ON pgbox.sandbox (tenant, owner, created_at DESC, id DESC) WHERE deleted_at IS NULL;
-- Who stands on a layer. A version bump leaves layers alone, so it stays a heap-only update.
CREATE INDEX sandbox_layers_idx ON pgbox.sandbox USING gin (layers) WHERE deleted_at IS NULL;
CREATE INDEX sandbox_expires_at_idx ON pgbox.sandbox (expires_at) WHERE deleted_at IS NULL AND expires_at IS NOT NULL;

-- kind is the d_type of readdir(3): 1 fifo, 2 character device, 4 directory, 8 regular file,
-- 10 symlink; 0 is a whiteout (the inode of a lower layer is gone).
CREATE TABLE pgbox.inode (
    layer_id uuid     NOT NULL,
    ino      bigint   NOT NULL,
    kind     smallint NOT NULL,
    mode     integer  NOT NULL,
    uid      integer  NOT NULL,
    gid      integer  NOT NULL,
    nlink    integer  NOT NULL,
    rdev     integer  NOT NULL DEFAULT 0,
    size     bigint   NOT NULL DEFAULT 0,
    mtime    bigint   NOT NULL,
    ctime    bigint   NOT NULL,
    target   text COLLATE "C",
    CONSTRAINT inode_pkey PRIMARY KEY (layer_id, ino),
    CONSTRAINT inode_kind_check CHECK (kind IN (0, 1, 2, 4, 8, 10)),
    CONSTRAINT inode_mode_check CHECK (mode BETWEEN 0 AND 4095),
    CONSTRAINT inode_size_check CHECK (size >= 0),
    CONSTRAINT inode_target_check CHECK ((kind = 10) = (target IS NOT NULL))
);
COMMENT ON COLUMN pgbox.inode.mtime IS 'Nanoseconds since the epoch.';
COMMENT ON COLUMN pgbox.inode.ctime IS 'Nanoseconds since the epoch.';

CREATE TABLE pgbox.dirent (
    layer_id   uuid             NOT NULL,
    parent_ino bigint           NOT NULL,
    name       text COLLATE "C" NOT NULL,
    ino        bigint,
    CONSTRAINT dirent_pkey PRIMARY KEY (layer_id, parent_ino, name),
    CONSTRAINT dirent_name_check CHECK (octet_length(name) BETWEEN 1 AND 255 AND name NOT IN ('.', '..') AND strpos(name, '/') = 0)
);
COMMENT ON COLUMN pgbox.dirent.ino IS 'NULL is a whiteout: the name of a lower layer is gone.';

-- Content is split into chunks of 65536 bytes; the last one is shorter. A missing or NULL
-- chunk below the end of the file is a hole. In the effective view no chunk with content lies at or past the end.
CREATE TABLE pgbox.chunk (
    layer_id uuid    NOT NULL,
    ino      bigint  NOT NULL,
    idx      integer NOT NULL,
    sha256   bytea,
    CONSTRAINT chunk_pkey PRIMARY KEY (layer_id, ino, idx),
    CONSTRAINT chunk_idx_check CHECK (idx >= 0),
    CONSTRAINT chunk_sha256_check CHECK (octet_length(sha256) = 32)
);
-- Who refers to a blob: four bytes an entry, where a b-tree would hold the 32 random ones.
CREATE INDEX chunk_sha256_idx ON pgbox.chunk USING hash (sha256) WHERE sha256 IS NOT NULL;

CREATE TABLE pgbox.blob (
    sha256     bytea       NOT NULL,
    size       integer     NOT NULL,
    data       bytea       NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    idle_since timestamptz,
    CONSTRAINT blob_pkey PRIMARY KEY (sha256),
    CONSTRAINT blob_sha256_check CHECK (octet_length(sha256) = 32),
    CONSTRAINT blob_size_check CHECK (size = octet_length(data) AND size BETWEEN 1 AND 65536)
);
ALTER TABLE pgbox.blob ALTER COLUMN data SET STORAGE EXTERNAL;
COMMENT ON TABLE pgbox.blob IS 'Content-addressed bytes, one row for equal content in all sandboxes.';
COMMENT ON COLUMN pgbox.blob.idle_since IS 'When fs.gc first found no chunk referring to this blob; it goes after a grace period, because readers of an older version may still want it.';
CREATE INDEX blob_idle_since_idx ON pgbox.blob (idle_since) WHERE idle_since IS NOT NULL;

CREATE TABLE pgbox.snapshot (
    id          uuid        NOT NULL DEFAULT gen_random_uuid(),
    sandbox_id  uuid        NOT NULL,
    name        text        NOT NULL,
    layers      uuid[]      NOT NULL,
    next_ino    bigint      NOT NULL,
    version     bigint      NOT NULL,
    used_bytes  bigint      NOT NULL,
    used_inodes bigint      NOT NULL,
    shell_state jsonb       NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT snapshot_pkey PRIMARY KEY (id),
    CONSTRAINT snapshot_name_key UNIQUE (sandbox_id, name),
    CONSTRAINT snapshot_name_check CHECK (length(name) BETWEEN 1 AND 255)
);

CREATE INDEX snapshot_layers_idx ON pgbox.snapshot USING gin (layers);

-- The audit log of every run.
CREATE TABLE pgbox.exec (
    id             uuid        NOT NULL DEFAULT gen_random_uuid(),
    sandbox_id     uuid        NOT NULL,
    route          text        NOT NULL,
    caller         text        NOT NULL,
    script         text        NOT NULL,
    cwd            text        NOT NULL,
    read_only      boolean     NOT NULL,
    exit_code      integer,
    started_at     timestamptz NOT NULL,
    duration_us    bigint      NOT NULL,
    stdout_bytes   bigint      NOT NULL,
    stderr_bytes   bigint      NOT NULL,
    stdout_head    text        NOT NULL,
    stderr_head    text        NOT NULL,
    version_before bigint      NOT NULL,
    version_after  bigint      NOT NULL,
    committed      boolean     NOT NULL,
    CONSTRAINT exec_pkey PRIMARY KEY (id)
);
CREATE INDEX exec_sandbox_idx ON pgbox.exec (sandbox_id, started_at);

-- The journal of file operations: one row per operation, ordered by (version, seq) in a sandbox.
CREATE TABLE pgbox.change (
    sandbox_id uuid             NOT NULL,
    version    bigint           NOT NULL,
    seq        integer          NOT NULL,
    exec_id    uuid,
    op         text             NOT NULL,
    path       text COLLATE "C" NOT NULL,
    path_to    text COLLATE "C",
    ino        bigint           NOT NULL,
    at         timestamptz      NOT NULL DEFAULT now(),
    CONSTRAINT change_pkey PRIMARY KEY (sandbox_id, version, seq)
);

CREATE TABLE pgbox.kv (
    layer_id uuid             NOT NULL,
    key      text COLLATE "C" NOT NULL,
    value    jsonb,
    CONSTRAINT kv_pkey PRIMARY KEY (layer_id, key),
    CONSTRAINT kv_key_check CHECK (octet_length(key) BETWEEN 1 AND 1024)
);
COMMENT ON COLUMN pgbox.kv.value IS 'NULL is a whiteout: the key of a lower layer is gone.';
