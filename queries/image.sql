-- name: CreateImage :one
SELECT * FROM fs.create_image(@sandbox::uuid, @name::text, sqlc.narg('tag')::text, sqlc.narg('at')::text, @replace::boolean);

-- name: ListImages :many
SELECT * FROM fs.list_images(@tenant::text, sqlc.narg('name')::text);

-- name: TagImage :one
SELECT * FROM fs.tag_image(@tenant::text, @owner::text, @image::text, @name::text, sqlc.narg('tag')::text);

-- name: DropImage :exec
SELECT fs.drop_image(@tenant::text, @owner::text, @image::text);
