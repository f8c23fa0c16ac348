#!/bin/sh
# Print one sandbox as SQL, as `pgbox export` does, with nothing but psql and pg_dump.
#
#   export-sandbox.sh DATABASE_URL SANDBOX_ID > box.sql
#   psql --set=ON_ERROR_STOP=1 OTHER_DATABASE_URL < box.sql
#
# The user must be a member of pgbox_dump: row level security shows that role the sandbox in app.sandbox_id and nothing else. What is
# printed is one transaction that ends with a check of what arrived.
set -eu

if [ $# -ne 2 ]; then
    echo "usage: $0 DATABASE_URL SANDBOX_ID" >&2
    exit 2
fi
url=$1 id=$2
case $id in
    *[!0-9a-f-]* | '') echo "$0: not a sandbox id: $id" >&2; exit 2 ;;
esac

export PGOPTIONS="${PGOPTIONS:-} -c app.sandbox_id=$id"

ask() {
    psql --no-psqlrc --quiet --tuples-only --no-align --set=ON_ERROR_STOP=1 --dbname="$url" --command="SET ROLE pgbox_dump" --command="$1"
}

top=$(ask "SELECT layers[1] FROM pgbox.sandbox WHERE id = '$id' AND deleted_at IS NULL")
if [ -z "$top" ]; then
    echo "$0: no such sandbox: $id" >&2
    exit 1
fi
digest=$(ask "SELECT pgbox.digest_sandbox('$id')")
execs=$(ask "SELECT count(*) FROM pgbox.exec")
changes=$(ask "SELECT count(*) FROM pgbox.change")

printf -- '-- pgbox sandbox %s top %s\n-- %s, %s runs, %s operations\nBEGIN;\n' "$id" "$top" "$digest" "$execs" "$changes"

pg_dump --role=pgbox_dump --enable-row-security --data-only --column-inserts --rows-per-insert=100 --on-conflict-do-nothing --no-sync \
    --table=pgbox.layer --table=pgbox.sandbox --table=pgbox.inode --table=pgbox.dirent --table=pgbox.chunk --table=pgbox.blob \
    --table=pgbox.snapshot --table=pgbox.exec --table=pgbox.change --table=pgbox.kv --dbname="$url"

# psql and pg_dump did not look at the same moment.
if [ "$(ask "SELECT pgbox.digest_sandbox('$id')")" != "$digest" ]; then
    echo "$0: the sandbox was written to meanwhile; try again, or use \`pgbox export\`" >&2
    exit 1
fi

cat <<END

-- What arrived is what was sent, or nothing is kept.
DO \$pgbox\$
BEGIN
    IF pgbox.digest_sandbox('$id') IS DISTINCT FROM '$digest'
       OR (SELECT count(*) FROM pgbox.exec WHERE sandbox_id = '$id') < $execs
       OR (SELECT count(*) FROM pgbox.change WHERE sandbox_id = '$id') < $changes THEN
        RAISE EXCEPTION 'sandbox $id is not the one of this dump'
            USING DETAIL = 'Here: ' || coalesce(pgbox.digest_sandbox('$id'), 'nothing'), HINT = 'It was there before, changed since or dropped. pgbox import --as restores it under a new id.';
    END IF;
END
\$pgbox\$;
COMMIT;
END
