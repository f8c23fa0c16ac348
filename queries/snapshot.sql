-- name: Snapshot :one
SELECT * FROM fs.snapshot(@sandbox::uuid, @name::text);

-- name: Snapshots :many
SELECT * FROM fs.snapshots(@sandbox::uuid);

-- name: Restore :one
SELECT * FROM fs.restore(@sandbox::uuid, @at::text, sqlc.narg('exec')::jsonb);

-- name: Undo :one
SELECT * FROM fs.undo(@sandbox::uuid, @steps::integer, sqlc.narg('exec')::jsonb);

-- name: Redo :one
SELECT * FROM fs.redo(@sandbox::uuid, @steps::integer, sqlc.narg('exec')::jsonb);

-- name: DropSnapshot :exec
SELECT fs.drop_snapshot(@sandbox::uuid, @snapshot::uuid);
