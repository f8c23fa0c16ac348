#!/bin/sh
# Print one sandbox as SQL: layers, contents, snapshots, keys, audit log and journal.
#
#   deploy/export-sandbox.sh ID [CONNECTION] > box.sql
#   psql -d TARGET -f box.sql         # or: pgbox import box.sql
#
# CONNECTION is what psql -d takes; without it PGHOST, PGDATABASE and the other variables of libpq count. psql and pg_dump must be in PATH, and the user a
# member of pgbox_dump, whose row policies show one sandbox. What is printed is one transaction that compares a digest of what arrived with
# that of what was sent, so that it restores all or nothing. `pgbox export` runs this script.
set -eu
if [ $# -lt 1 ] || [ $# -gt 2 ]; then
	echo "usage: export-sandbox.sh ID [CONNECTION] > FILE" >&2
	exit 2
fi
PGBOX_CONNECTION=${2-}
# Runs inside psql's transaction, whose snapshot pg_dump shares: the digest is of exactly these rows.
PGBOX_WRITE='
printf "%s\n" "-- pgbox sandbox $PGBOX_ID top $PGBOX_TOP" "-- $PGBOX_DIGEST" "\\set ON_ERROR_STOP on" "BEGIN;" "SELECT pgbox.begin_restore('\''$PGBOX_ID'\'', '\''$PGBOX_TOP'\'');" &&
PGOPTIONS="${PGOPTIONS-} -c app.sandbox_id=$PGBOX_ID" pg_dump --role=pgbox_dump --snapshot="$PGBOX_SNAPSHOT" --enable-row-security --data-only \
	--column-inserts --rows-per-insert=100 --on-conflict-do-nothing --no-sync \
	-t pgbox.layer -t pgbox.shell_state -t pgbox.sandbox -t pgbox.inode -t pgbox.dirent -t pgbox.chunk -t pgbox.blob -t pgbox.snapshot -t pgbox.exec -t pgbox.change -t pgbox.kv \
	-d "$PGBOX_CONNECTION" &&
printf "%s\n" "SELECT pgbox.end_restore('\''$PGBOX_ID'\'');" "$PGBOX_FUNCTION;" "DO \$pgbox\$
DECLARE
    v_here text := pg_temp.digest_sandbox('\''$PGBOX_ID'\'');
BEGIN
    IF v_here IS DISTINCT FROM '\''$PGBOX_DIGEST'\'' THEN
        RAISE EXCEPTION '\''sandbox $PGBOX_ID is not the one of this dump'\''
            USING DETAIL = v_here, HINT = '\''The dump is damaged, or a layer that it shares with other sandboxes is another in this database.'\'';
    END IF;
END
\$pgbox\$;" "DROP FUNCTION pg_temp.digest_sandbox(uuid);" "COMMIT;"
'
export PGBOX_CONNECTION PGBOX_WRITE
exec 3>&1 >/dev/null
psql -X -q -v ON_ERROR_STOP=1 -v sandbox="$1" -d "$PGBOX_CONNECTION" <<'END'
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SELECT pg_export_snapshot() AS snapshot \gset
SET LOCAL ROLE pgbox_dump;
SELECT s.id, pg_catalog.set_config('app.sandbox_id', s.id::text, true) FROM (SELECT :'sandbox'::uuid AS id) s \gset
SELECT count(*) > 0 AS found FROM pgbox.sandbox s WHERE s.deleted_at IS NULL \gset
\if :found
SELECT s.layers[1] AS top, pgbox.digest_sandbox(s.id) AS digest,
       replace(pg_get_functiondef('pgbox.digest_sandbox(uuid)'::regprocedure), 'FUNCTION pgbox.', 'FUNCTION pg_temp.') AS function
  FROM pgbox.sandbox s \gset
\setenv PGBOX_ID :id
\setenv PGBOX_TOP :top
\setenv PGBOX_DIGEST :digest
\setenv PGBOX_FUNCTION :function
\setenv PGBOX_SNAPSHOT :snapshot
\set outcome `sh -c "$PGBOX_WRITE" >&3 && echo written`
SELECT :'outcome' = 'written' AS written \gset
\else
SELECT pgbox.dump_layers();
\endif
\if :{?written}
\if :written
\q
\endif
\endif
DO $$ BEGIN RAISE EXCEPTION 'the sandbox was not dumped'; END $$;
END
