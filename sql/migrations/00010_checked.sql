-- When all sandboxes were last checked, so that of many gateways one does it.

-- +goose Up
ALTER TABLE pgbox.housekeeping ADD COLUMN checked_at timestamptz NOT NULL DEFAULT '-infinity';
COMMENT ON COLUMN pgbox.housekeeping.checked_at IS 'When fs.fsck_all was last done on a schedule.';
