-- name: BaseLayer :one
SELECT fs.base_layer()::uuid AS id;

-- name: LoadInodes :many
SELECT ino::bigint[] AS ino, kind::smallint[] AS kind, mode::integer[] AS mode, uid::integer[] AS uid, gid::integer[] AS gid,
       nlink::integer[] AS nlink, rdev::integer[] AS rdev, size::bigint[] AS size, mtime::bigint[] AS mtime, ctime::bigint[] AS ctime,
       target::text[] AS target
FROM fs.load_inodes(@sandbox::uuid, @layer::uuid);

-- name: LoadDirents :many
SELECT parent_ino::bigint[] AS parent_ino, name::text[] AS name, ino::bigint[] AS ino
FROM fs.load_dirents(@sandbox::uuid, @layer::uuid);

-- name: LoadChunks :many
SELECT ino::bigint[] AS ino, idx::integer[] AS idx, sha256::bytea[] AS sha256
FROM fs.load_chunks(@sandbox::uuid, @layer::uuid);
