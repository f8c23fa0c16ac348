-- Who may do what. Applied after all functions and views; revokes first, so the result does not depend on history.

REVOKE ALL ON ALL TABLES IN SCHEMA pgbox FROM PUBLIC, pgbox_gateway, pgbox_auditor, pgbox_dump, pgbox_maintainer;
REVOKE ALL ON ALL TABLES IN SCHEMA fs FROM PUBLIC, pgbox_gateway, pgbox_auditor, pgbox_dump, pgbox_maintainer;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA pgbox FROM PUBLIC, pgbox_gateway, pgbox_auditor, pgbox_dump, pgbox_maintainer;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA fs FROM PUBLIC, pgbox_gateway, pgbox_housekeeper, pgbox_auditor, pgbox_dump, pgbox_maintainer;

-- Functions run as their owners: pgbox_owner in the scope of one sandbox, pgbox_maintainer across them.
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA pgbox TO pgbox_owner;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA pgbox TO pgbox_maintainer;
GRANT SELECT ON ALL TABLES IN SCHEMA fs TO pgbox_owner, pgbox_maintainer;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA pgbox TO pgbox_owner, pgbox_maintainer;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA fs TO pgbox_owner, pgbox_maintainer;

-- What was logged stays as it is: only housekeeping, which is the maintainer's, lets it go when its time is up.
REVOKE UPDATE, DELETE, TRUNCATE ON pgbox.exec, pgbox.change FROM pgbox_owner;
REVOKE UPDATE ON pgbox.exec, pgbox.change FROM pgbox_maintainer;

-- The gateway calls functions and touches no table.
GRANT USAGE ON SCHEMA fs TO pgbox_gateway;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA fs TO pgbox_gateway;

-- Housekeeping without a gateway (pg_cron) needs no sandbox. What removes history on its own is not for gateways: they call fs.housekeep, which has one
-- pass at a time and the same floors.
REVOKE EXECUTE ON FUNCTION fs.prune(interval, bigint, integer) FROM pgbox_gateway;
GRANT USAGE ON SCHEMA fs TO pgbox_housekeeper;
GRANT EXECUTE ON FUNCTION fs.housekeep(interval, interval, integer, interval, bigint), fs.prune(interval, bigint, integer),
    fs.gc(interval, integer), fs.expire(integer) TO pgbox_housekeeper;

-- Auditors read the views of all sandboxes; views run with the rights of who asks.
GRANT USAGE ON SCHEMA fs, pgbox TO pgbox_auditor;
GRANT SELECT ON ALL TABLES IN SCHEMA fs, pgbox TO pgbox_auditor;
GRANT EXECUTE ON FUNCTION pgbox.kind(text), pgbox.chunk_size(), pgbox.content_hash(bigint, bytea), pgbox.whole_tree(uuid[], bigint, text, boolean), pgbox.dirs_below(uuid[], bigint, text),
    fs.hash_of(bytea) TO pgbox_auditor;

-- A dump sees one sandbox, through the row policies.
GRANT USAGE ON SCHEMA pgbox TO pgbox_dump;
GRANT SELECT ON pgbox.shell_state, pgbox.layer, pgbox.sandbox, pgbox.inode, pgbox.dirent, pgbox.chunk, pgbox.blob, pgbox.snapshot,
    pgbox.exec, pgbox.change, pgbox.kv TO pgbox_dump;
GRANT EXECUTE ON FUNCTION pgbox.scope_sandbox(), pgbox.dump_layers(), pgbox.dump_bases(), pgbox.digest_sandbox(uuid) TO pgbox_dump;
