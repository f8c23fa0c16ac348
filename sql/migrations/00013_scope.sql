-- A scope that is no id is an error of the caller's, and says so.

-- +goose Up
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION pgbox.scope_sandbox() RETURNS uuid
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_id text := current_setting('app.sandbox_id', true);
BEGIN
    IF v_id IS NULL OR v_id = '' THEN
        RAISE EXCEPTION USING ERRCODE = 'VF022', MESSAGE = 'app.sandbox_id is not set',
            HINT = 'Enter a sandbox first: SELECT fs.use(''<id>'').';
    ELSIF v_id !~ '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$' THEN
        RAISE EXCEPTION USING ERRCODE = 'VF022', MESSAGE = 'app.sandbox_id is not a sandbox id',
            HINT = 'Enter a sandbox first: SELECT fs.use(''<id>'').';
    END IF;
    RETURN v_id::uuid;
END
$$;
-- +goose StatementEnd
