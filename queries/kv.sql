-- name: KvGet :one
SELECT * FROM fs.kv_get(@sandbox::uuid, @key::text);

-- name: KvList :many
SELECT * FROM fs.kv_list(@sandbox::uuid, @prefix::text, @max_rows::integer, @after::text);

-- name: KvSet :one
SELECT fs.kv_set(@sandbox::uuid, @key::text, @value::jsonb, sqlc.narg('expect_version')::bigint, sqlc.narg('expect_value')::jsonb)::bigint AS version;

-- name: KvDelete :exec
SELECT fs.kv_delete(@sandbox::uuid, @key::text, sqlc.narg('expect_version')::bigint, sqlc.narg('expect_value')::jsonb);
