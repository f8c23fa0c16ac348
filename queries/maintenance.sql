-- name: GC :one
SELECT layers::bigint AS layers, blobs::bigint AS blobs, bytes::bigint AS bytes, more::boolean AS more FROM fs.gc(@grace::interval, @max_rows::integer);

-- name: Expire :one
SELECT fs.expire(@max_rows::integer)::bigint AS dropped;

-- name: Housekeep :one
SELECT due::boolean AS due, more::boolean AS more, sandboxes::bigint AS sandboxes, layers::bigint AS layers, blobs::bigint AS blobs, bytes::bigint AS bytes,
       changes::bigint AS changes, execs::bigint AS execs
  FROM fs.housekeep(@every::interval, @grace::interval, @max_rows::integer, sqlc.narg('history')::interval, sqlc.narg('operations')::bigint);

-- name: FsckAll :many
SELECT * FROM fs.fsck_all(sqlc.narg('every')::interval);

-- name: FsckSandbox :many
SELECT * FROM fs.fsck_sandbox(@sandbox::uuid);

-- name: Repair :many
SELECT * FROM fs.repair(@sandbox::uuid);

-- name: Quota :many
SELECT * FROM fs.quota(@tenant::text, @owner::text);

-- name: SetQuota :exec
SELECT fs.set_quota(@tenant::text, @owner::text, sqlc.narg('max_bytes')::bigint, sqlc.narg('max_inodes')::bigint, sqlc.narg('max_snapshots')::bigint, sqlc.narg('max_sandboxes')::bigint);

-- name: Flatten :one
SELECT fs.flatten(@sandbox::uuid)::integer AS layers;

-- name: Schema :one
SELECT version::bigint AS version, digest::text AS digest, fingerprint::text AS fingerprint, base_layer::uuid AS base_layer FROM fs.schema();

-- name: Session :one
SELECT pid::integer AS pid, role::text AS role, superuser::boolean AS superuser FROM fs.session();
