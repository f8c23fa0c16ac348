-- Search for text in the files of all sandboxes at once, for auditors, by an index of trigrams. Optional; nothing of pgbox needs it.
--
--   psql -v ON_ERROR_STOP=1 -f search.sql "$DATABASE_DIRECT_URL"       as the superuser, or as who owns the database and may SET ROLE pgbox_owner
--   SET ROLE pgbox_auditor;
--   SELECT * FROM search.files('BEGIN (RSA|EC) PRIVATE KEY');
--   DROP SCHEMA search CASCADE;                                        takes it away again
--
-- It needs pg_trgm, which comes with Postgres (contrib). The index is over contents, so what a thousand sandboxes share is indexed once; it takes about as much
-- room as the texts and makes every new content dearer to commit. Files are stored in pieces of 64 KiB and searched piece by piece: what lies
-- across the border of two is not found, nor what lies across the border of what was appended later. fs.grep() searches one sandbox without any of this.
CREATE SCHEMA search;
CREATE EXTENSION IF NOT EXISTS pg_trgm WITH SCHEMA search;
SET search_path = search, public, pg_catalog;

-- IMMUTABLE, which an index asks for: how bytes become text never changes.
CREATE FUNCTION search.text_of(p_data bytea) RETURNS text
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF position('\x00'::bytea IN p_data) > 0 THEN
        RETURN NULL;
    END IF;
    BEGIN
        RETURN convert_from(p_data, 'UTF8');
    EXCEPTION WHEN character_not_in_repertoire OR untranslatable_character THEN
        RETURN convert_from(p_data, 'LATIN1');
    END;
END
$$;

COMMENT ON FUNCTION search.text_of(bytea) IS 'Bytes as text: UTF-8, or ISO 8859-1 when they are not; NULL when there is a NUL byte.';

-- Writers go on meanwhile.
CREATE INDEX CONCURRENTLY blob_text_idx ON pgbox.blob USING gin (search.text_of(data) gin_trgm_ops);

CREATE FUNCTION search.files(p_pattern text, p_limit integer DEFAULT 100)
    RETURNS TABLE (tenant text, owner text, sandbox_id uuid, path text, size bigint, modified_at timestamptz)
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off
    SET jit = off
AS $$
    WITH RECURSIVE hit AS (
        SELECT b.sha256 FROM pgbox.blob b WHERE search.text_of(b.data) ~ p_pattern
        UNION
        -- what begins with that
        SELECT b.sha256 FROM hit h JOIN pgbox.blob b ON b.base = h.sha256
    ), held AS MATERIALIZED (
        SELECT DISTINCT s.id, s.layers, c.ino, c.idx, c.sha256
          FROM hit h
          JOIN pgbox.chunk c ON c.sha256 = h.sha256
          JOIN pgbox.sandbox s ON s.layers @> ARRAY[c.layer_id] AND s.deleted_at IS NULL
    ), live AS MATERIALIZED (
        -- A newer layer may say something else.
        SELECT h.id, array_agg(DISTINCT h.ino) AS inos
          FROM held h
         WHERE h.sha256 = (SELECT c.sha256 FROM pgbox.chunk c
                            WHERE c.layer_id = ANY (h.layers) AND c.ino = h.ino AND c.idx = h.idx
                            ORDER BY array_position(h.layers, c.layer_id)
                            LIMIT 1)
         GROUP BY h.id
    )
    SELECT f.tenant, f.owner, f.sandbox_id, f.path, f.size, f.modified_at
      FROM live l
     CROSS JOIN LATERAL (SELECT f.* FROM fs.files f WHERE f.sandbox_id = l.id AND f.ino = ANY (l.inos) AND f.kind = 8) f
     ORDER BY f.tenant, f.owner, f.sandbox_id, f.path COLLATE "C"
     LIMIT p_limit
$$;

COMMENT ON FUNCTION search.files(text, integer) IS
    'The files of all sandboxes, as they are now, in which a regular expression matches within a piece of 64 KiB. Needs three characters in a row of the pattern to be fixed, or the index does not help.';

REVOKE ALL ON FUNCTION search.files(text, integer) FROM PUBLIC;
GRANT USAGE ON SCHEMA search TO pgbox_auditor;
GRANT EXECUTE ON FUNCTION search.files(text, integer) TO pgbox_auditor;
