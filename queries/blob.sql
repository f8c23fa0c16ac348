-- name: ReadBlobs :many
SELECT sha256::bytea AS sha256, data::bytea AS data FROM fs.read_blobs(@sandbox::uuid, @sha256::bytea[]);

-- name: MissingBlobs :many
SELECT m::bytea AS sha256 FROM fs.missing_blobs(@sandbox::uuid, @sha256::bytea[]) AS m;

-- name: PutBlobs :one
SELECT fs.put_blobs(@sandbox::uuid, @data::bytea[])::bigint AS created;

-- name: ReadState :one
SELECT fs.read_state(@sandbox::uuid, @sha256::bytea)::jsonb AS state;
