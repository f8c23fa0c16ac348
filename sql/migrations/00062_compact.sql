-- What a content takes: that it is idle stands in the queue of fs.gc, so that no row of a content is written again only to be deleted, and its index holds
-- four bytes of the hash.

-- +goose Up
ALTER TABLE pgbox.loose_blob ADD COLUMN since timestamptz;
COMMENT ON COLUMN pgbox.loose_blob.since IS 'When fs.gc found that nothing refers to this content; it goes after a grace period, because readers of an older version may still want it. NULL: fs.gc has not looked at it.';
COMMENT ON TABLE pgbox.loose_blob IS 'Contents that a chunk referred to, or that were stored ahead of one, or that another content was based on. A queue: a content may be in it more than once, and may be in use.';
GRANT SELECT ON pgbox.blob TO pgbox_maintainer;
GRANT INSERT ON pgbox.loose_blob TO pgbox_maintainer;
SET LOCAL ROLE pgbox_maintainer;
INSERT INTO pgbox.loose_blob (sha256, since) SELECT b.sha256, b.idle_since FROM pgbox.blob b WHERE b.idle_since IS NOT NULL;
RESET ROLE;
ALTER TABLE pgbox.blob DROP COLUMN idle_since;

-- A b-tree of random keys is full to two thirds and holds each of them whole; equality is all that is asked.
ALTER TABLE pgbox.blob
    DROP CONSTRAINT blob_pkey,
    ADD CONSTRAINT blob_pkey EXCLUDE USING hash (sha256 WITH =);
