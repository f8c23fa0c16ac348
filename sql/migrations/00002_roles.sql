-- Roles, ownership, row level security and the publication. Every role is NOLOGIN: an
-- installation grants pgbox_gateway (pgbox_auditor, pgbox_dump) to the users that log in.

-- +goose Up

-- Roles belong to the whole cluster, and other databases may be migrating at this moment;
-- advisory locks end at the database, so a lost race is simply the wanted state.
-- +goose StatementBegin
DO $$
DECLARE
    v_role text;
BEGIN
    FOREACH v_role IN ARRAY ARRAY['pgbox_owner', 'pgbox_maintainer', 'pgbox_gateway', 'pgbox_auditor', 'pgbox_dump'] LOOP
        IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = v_role) THEN
            BEGIN
                EXECUTE format('CREATE ROLE %I NOLOGIN', v_role);
            EXCEPTION WHEN duplicate_object OR unique_violation THEN
                NULL;
            END;
        END IF;
    END LOOP;
    -- Who is not a superuser must be a full member to hand over what it creates; having created
    -- the roles is not enough since PostgreSQL 16. Who may not grant them has been made a member by somebody who may.
    IF NOT (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user) THEN
        FOREACH v_role IN ARRAY ARRAY['pgbox_owner', 'pgbox_maintainer'] LOOP
            BEGIN
                EXECUTE format('GRANT %I TO CURRENT_USER', v_role);
            EXCEPTION WHEN unique_violation OR insufficient_privilege THEN
                NULL;
            END;
        END LOOP;
    END IF;
END
$$;
-- +goose StatementEnd

ALTER SCHEMA pgbox OWNER TO pgbox_owner;
ALTER SCHEMA fs OWNER TO pgbox_owner;
-- A function's owner needs CREATE on its schema when the migrating user is not a superuser.
GRANT USAGE, CREATE ON SCHEMA pgbox, fs TO pgbox_maintainer;

-- The scope of a transaction. Both refuse an unset and an empty setting: the first is a
-- caller that forgot, the second is what a transaction-local setting leaves behind.
-- They live here and not among the repeatable functions because policies depend on them.
-- +goose StatementBegin
CREATE FUNCTION pgbox.scope_sandbox() RETURNS uuid
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_id text := current_setting('app.sandbox_id', true);
BEGIN
    IF v_id IS NULL OR v_id = '' THEN
        RAISE EXCEPTION USING ERRCODE = 'VF022', MESSAGE = 'app.sandbox_id is not set',
            HINT = 'Enter a sandbox first: SELECT fs.use(''<id>'').';
    END IF;
    RETURN v_id::uuid;
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION pgbox.scope_sandbox() IS 'The sandbox in whose scope the transaction runs (app.sandbox_id). Unset or empty is an error.';

-- +goose StatementBegin
CREATE FUNCTION pgbox.scope_layers() RETURNS uuid[]
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_layers text := current_setting('app.layers', true);
BEGIN
    IF v_layers IS NULL OR v_layers = '' THEN
        RAISE EXCEPTION USING ERRCODE = 'VF022', MESSAGE = 'app.layers is not set',
            HINT = 'Layers are in scope only inside a function that called pgbox.enter().';
    END IF;
    RETURN v_layers::uuid[];
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION pgbox.scope_layers() IS 'The layers of the sandbox in scope, newest first (app.layers). Unset or empty is an error.';

-- What pg_dump may see. Unlike a plain sub-select it refuses a sandbox that does not exist,
-- so that a mistyped id is not a dump of nothing with status 0.
-- +goose StatementBegin
CREATE FUNCTION pgbox.dump_layers() RETURNS uuid[]
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_id     uuid := pgbox.scope_sandbox();
    v_layers uuid[];
BEGIN
    SELECT s.layers INTO v_layers FROM pgbox.sandbox s WHERE s.id = v_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'VF003', MESSAGE = format('no such sandbox: %s', v_id);
    END IF;
    RETURN ARRAY(
        SELECT unnest(v_layers)
        UNION
        SELECT unnest(n.layers) FROM pgbox.snapshot n WHERE n.sandbox_id = v_id);
END
$$;
-- +goose StatementEnd
COMMENT ON FUNCTION pgbox.dump_layers() IS 'The layers a dump of the sandbox in scope needs: its own chain and those of its snapshots.';

ALTER FUNCTION pgbox.scope_sandbox() OWNER TO pgbox_owner;
ALTER FUNCTION pgbox.scope_layers() OWNER TO pgbox_owner;
ALTER FUNCTION pgbox.dump_layers() OWNER TO pgbox_owner;

-- FORCE binds the owner too, and with it every SECURITY DEFINER function it owns.
-- +goose StatementBegin
DO $$
DECLARE
    v_table text;
BEGIN
    FOREACH v_table IN ARRAY ARRAY['schema_digest', 'layer', 'sandbox', 'inode', 'dirent', 'chunk', 'blob', 'snapshot', 'exec', 'change', 'kv'] LOOP
        EXECUTE format('ALTER TABLE pgbox.%I OWNER TO pgbox_owner', v_table);
        EXECUTE format('ALTER TABLE pgbox.%I ENABLE ROW LEVEL SECURITY', v_table);
        EXECUTE format('ALTER TABLE pgbox.%I FORCE ROW LEVEL SECURITY', v_table);
        EXECUTE format('CREATE POLICY %I ON pgbox.%I TO pgbox_maintainer USING (true) WITH CHECK (true)', v_table || '_maintainer', v_table);
        EXECUTE format('CREATE POLICY %I ON pgbox.%I FOR SELECT TO pgbox_auditor USING (true)', v_table || '_auditor', v_table);
    END LOOP;

    -- What hangs on a layer: seen through the chain, changed only in its top layer, so a sealed layer cannot change.
    FOREACH v_table IN ARRAY ARRAY['inode', 'dirent', 'chunk', 'kv'] LOOP
        EXECUTE format('CREATE POLICY %I ON pgbox.%I FOR SELECT TO pgbox_owner USING (layer_id = ANY ((SELECT pgbox.scope_layers())::uuid[]))', v_table || '_select', v_table);
        EXECUTE format('CREATE POLICY %I ON pgbox.%I FOR INSERT TO pgbox_owner WITH CHECK (layer_id = (SELECT (pgbox.scope_layers())[1]))', v_table || '_insert', v_table);
        EXECUTE format('CREATE POLICY %I ON pgbox.%I FOR UPDATE TO pgbox_owner USING (layer_id = (SELECT (pgbox.scope_layers())[1])) WITH CHECK (layer_id = (SELECT (pgbox.scope_layers())[1]))', v_table || '_update', v_table);
        EXECUTE format('CREATE POLICY %I ON pgbox.%I FOR DELETE TO pgbox_owner USING (layer_id = (SELECT (pgbox.scope_layers())[1]))', v_table || '_delete', v_table);
        EXECUTE format('CREATE POLICY %I ON pgbox.%I FOR SELECT TO pgbox_dump USING (layer_id = ANY ((SELECT pgbox.dump_layers())::uuid[]))', v_table || '_dump', v_table);
    END LOOP;

    -- What hangs on a sandbox.
    FOREACH v_table IN ARRAY ARRAY['snapshot', 'exec', 'change'] LOOP
        EXECUTE format('CREATE POLICY %I ON pgbox.%I FOR SELECT TO pgbox_owner USING (sandbox_id = (SELECT pgbox.scope_sandbox()))', v_table || '_select', v_table);
        EXECUTE format('CREATE POLICY %I ON pgbox.%I FOR INSERT TO pgbox_owner WITH CHECK (sandbox_id = (SELECT pgbox.scope_sandbox()))', v_table || '_insert', v_table);
        EXECUTE format('CREATE POLICY %I ON pgbox.%I FOR SELECT TO pgbox_dump USING (sandbox_id = (SELECT pgbox.scope_sandbox()))', v_table || '_dump', v_table);
    END LOOP;
END
$$;
-- +goose StatementEnd

CREATE POLICY sandbox_select ON pgbox.sandbox FOR SELECT TO pgbox_owner USING (id = (SELECT pgbox.scope_sandbox()));
CREATE POLICY sandbox_update ON pgbox.sandbox FOR UPDATE TO pgbox_owner
    USING (id = (SELECT pgbox.scope_sandbox())) WITH CHECK (id = (SELECT pgbox.scope_sandbox()));
CREATE POLICY sandbox_dump ON pgbox.sandbox FOR SELECT TO pgbox_dump USING (id = (SELECT pgbox.scope_sandbox()));

CREATE POLICY layer_select ON pgbox.layer FOR SELECT TO pgbox_owner USING (id = ANY ((SELECT pgbox.scope_layers())::uuid[]));
CREATE POLICY layer_dump ON pgbox.layer FOR SELECT TO pgbox_dump USING (id = ANY ((SELECT pgbox.dump_layers())::uuid[]));

-- Equal content is one row for everybody, so a blob belongs to no scope: whoever knows the hash of
-- a content may name it. A policy that looked at chunk would also keep a dump from being restored.
-- The UPDATE policy is what FOR KEY SHARE needs; its check lets no update through.
CREATE POLICY blob_select ON pgbox.blob FOR SELECT TO pgbox_owner USING (true);
CREATE POLICY blob_insert ON pgbox.blob FOR INSERT TO pgbox_owner WITH CHECK (true);
CREATE POLICY blob_lock ON pgbox.blob FOR UPDATE TO pgbox_owner USING (true) WITH CHECK (false);
-- The chunk rows that pgbox_dump sees are already those of one sandbox.
CREATE POLICY blob_dump ON pgbox.blob FOR SELECT TO pgbox_dump
    USING (sha256 IN (SELECT c.sha256 FROM pgbox.chunk c WHERE c.sha256 IS NOT NULL));

CREATE POLICY schema_digest_owner ON pgbox.schema_digest TO pgbox_owner USING (true) WITH CHECK (true);

-- What the replication listener follows. Not blob: content is fetched by hash. The primary keys are
-- the replica identity, so a row that moves carries its old key.
CREATE PUBLICATION pgbox FOR TABLE pgbox.sandbox, pgbox.layer, pgbox.inode, pgbox.dirent, pgbox.chunk;
