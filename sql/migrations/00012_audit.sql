-- Who really wrote a row of the log, for whom, and when: what the client says beside what the database knows.

-- +goose Up
ALTER TABLE pgbox.exec
    ADD COLUMN agent       text NOT NULL DEFAULT '',
    ADD COLUMN merged_from uuid,
    ADD COLUMN db_role     text,
    ADD COLUMN logged_at   timestamptz,
    ADD CONSTRAINT exec_agent_check CHECK (length(agent) <= 128);
-- Not for the rows that are there already.
ALTER TABLE pgbox.exec
    ALTER COLUMN db_role SET DEFAULT session_user,
    ALTER COLUMN logged_at SET DEFAULT clock_timestamp();
COMMENT ON COLUMN pgbox.exec.agent IS 'Which of a caller''s agents asked, as the client says; empty: it does not.';
COMMENT ON COLUMN pgbox.exec.merged_from IS 'The sandbox whose changes a merge brought.';
COMMENT ON COLUMN pgbox.exec.db_role IS 'The database user whose session wrote the row: a gateway, or whoever called the function in its place.';
COMMENT ON COLUMN pgbox.exec.logged_at IS 'When the row was written, by the clock of the server.';

ALTER TABLE pgbox.change ADD COLUMN db_role text;
COMMENT ON COLUMN pgbox.change.db_role IS 'The database user who did it in SQL; NULL for what a run did.';

-- +goose StatementBegin
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'pgbox_housekeeper') THEN
        BEGIN
            CREATE ROLE pgbox_housekeeper NOLOGIN;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL;
        END;
    END IF;
END
$$;
-- +goose StatementEnd
