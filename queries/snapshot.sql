-- name: Snapshot :one
SELECT * FROM fs.snapshot(@sandbox::uuid, @name::text);

-- name: Snapshots :many
SELECT * FROM fs.snapshots(@sandbox::uuid);

-- name: Restore :one
SELECT * FROM fs.restore(@sandbox::uuid, @snapshot::uuid);

-- name: DropSnapshot :exec
SELECT fs.drop_snapshot(@sandbox::uuid, @snapshot::uuid);
