-- name: Timeline :many
SELECT * FROM fs.timeline(
    @sandbox::uuid, @max_rows::integer, sqlc.narg('before')::timestamptz, sqlc.narg('before_id')::uuid, sqlc.narg('since')::timestamptz,
    sqlc.narg('caller')::text, sqlc.narg('route')::text, sqlc.narg('script')::text, sqlc.narg('committed')::boolean, sqlc.narg('failed')::boolean,
    sqlc.narg('agent')::text);

-- name: History :many
SELECT * FROM fs.history(@sandbox::uuid, @path::text, @max_rows::integer, sqlc.narg('before')::bigint, sqlc.narg('before_seq')::integer);

-- name: Blame :many
SELECT * FROM fs.blame(@sandbox::uuid, @path::text);
