-- name: Apply :one
SELECT version::bigint AS version, used_bytes::bigint AS used_bytes, used_inodes::bigint AS used_inodes, layers::uuid[] AS layers, changed_at::timestamptz AS changed_at,
       state_sha256::bytea AS state_sha256
FROM fs.apply(
    @sandbox::uuid, @version::bigint, @next_ino::bigint, @used_bytes::bigint, @used_inodes::bigint,
    @ino::bigint[], @kind::smallint[], @mode::integer[], @uid::integer[], @gid::integer[], @nlink::integer[], @rdev::integer[],
    @size::bigint[], @mtime::bigint[], @ctime::bigint[], @target::text[], @gone::bigint[],
    @parent::bigint[], @name::text[], @child::bigint[],
    @chunk_ino::bigint[], @chunk_idx::integer[], @chunk_sha256::bytea[], @blob::bytea[],
    sqlc.narg('shell_state')::jsonb, sqlc.narg('exec')::jsonb,
    @op::text[], @path::text[], @path_to::text[], @change_ino::bigint[],
    @size_before::bigint[], @size_after::bigint[], @hash_before::bytea[], @hash_after::bytea[],
    sqlc.narg('changed_at')::timestamptz);

-- name: LogExecs :one
SELECT fs.log_execs(@execs::jsonb)::bigint AS rows;

-- name: Settle :many
SELECT s::bigint AS version FROM fs.settle(@sandbox::uuid, @exec::uuid) AS s;
