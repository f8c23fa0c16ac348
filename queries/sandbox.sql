-- name: CreateSandbox :one
SELECT * FROM fs.create_sandbox(
    sqlc.narg('id')::uuid, @tenant::text, @owner::text, @name::text,
    sqlc.narg('env')::jsonb, sqlc.narg('config')::jsonb, sqlc.narg('labels')::jsonb,
    sqlc.narg('max_bytes')::bigint, sqlc.narg('max_inodes')::bigint, sqlc.narg('expires_at')::timestamptz,
    sqlc.narg('image')::text, sqlc.narg('history')::jsonb);

-- name: Fence :one
SELECT * FROM fs.fence(@sandbox::uuid);

-- name: FenceAt :one
SELECT * FROM fs.fence_at(@sandbox::uuid, @at::text);

-- name: GetSandbox :one
SELECT * FROM fs.get_sandbox(@sandbox::uuid);

-- name: ListSandboxes :many
SELECT * FROM fs.list_sandboxes(
    @tenant::text, @owner::text, @max_rows::integer,
    sqlc.narg('after_created_at')::timestamptz, sqlc.narg('after_id')::uuid, sqlc.narg('name')::text, sqlc.narg('labels')::jsonb);

-- name: UpdateSandbox :one
SELECT * FROM fs.update_sandbox(
    @sandbox::uuid, sqlc.narg('name')::text, sqlc.narg('env')::jsonb, sqlc.narg('labels')::jsonb,
    sqlc.narg('max_bytes')::bigint, sqlc.narg('max_inodes')::bigint, sqlc.narg('expires_at')::timestamptz, @clear::text[],
    sqlc.narg('history')::jsonb, sqlc.narg('journal')::boolean, sqlc.narg('max_snapshots')::bigint);

-- name: DropSandbox :exec
SELECT fs.drop_sandbox(@sandbox::uuid);

-- name: Usage :one
SELECT version::bigint AS version, used_bytes::bigint AS used_bytes, used_inodes::bigint AS used_inodes,
       max_bytes::bigint AS max_bytes, max_inodes::bigint AS max_inodes, layers::integer AS layers, snapshots::bigint AS snapshots
FROM fs.usage(@sandbox::uuid);

-- name: Fork :many
SELECT * FROM fs.fork(
    @sandbox::uuid, @ids::uuid[], sqlc.narg('name')::text, sqlc.narg('owner')::text, sqlc.narg('at')::text);

-- name: Diff :many
SELECT path::text AS path, status::text AS status, kind::smallint AS kind, ino::bigint AS ino, path_from::text AS path_from, ino_from::bigint AS ino_from
FROM fs.diff(@sandbox::uuid, @at::text, sqlc.narg('from')::uuid, @from_at::text);

-- name: ChangesSince :many
SELECT * FROM fs.changes_since(@sandbox::uuid, @version::bigint, @seq::integer, @max_rows::integer);

-- name: Merge :many
SELECT path::text AS path, status::text AS status, outcome::text AS outcome, detail::text AS detail, winner::text AS winner
FROM fs.merge(@sandbox::uuid, sqlc.arg('from')::uuid, @from_at::text, @base::text, @conflict::text, sqlc.narg('exec')::jsonb);
