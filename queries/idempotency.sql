-- name: Remember :exec
SELECT fs.remember(@tenant::text, @owner::text, @key::text, @digest::bytea, @result::bytea);

-- name: Recall :many
SELECT key::text AS key, digest::bytea AS digest, result::bytea AS result FROM fs.recall(@tenant::text, @owner::text, @keys::text[]);
