CREATE FUNCTION pgbox.refresh_base() RETURNS uuid
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- Fixed, so that equal content is an equal layer with an equal id in every database.
    c_time constant bigint := 1704067200000000000;
    v_id uuid;
BEGIN
    SELECT md5(string_agg(concat_ws('|', e.path, e.kind, e.mode, e.uid, e.rdev, encode(e.content, 'hex'), e.target), E'\n'
                          ORDER BY e.path COLLATE "C"))::uuid
      INTO v_id
      FROM pgbox.base_entries() e;
    IF EXISTS (SELECT FROM pgbox.layer l WHERE l.id = v_id) THEN
        RETURN v_id;
    END IF;

    INSERT INTO pgbox.layer (id, created_at, sealed_at)
    VALUES (v_id, 'epoch', 'epoch');
    INSERT INTO pgbox.loose_layer (layer_id) SELECT d.base_layer FROM pgbox.schema_digest d;

    CREATE TEMPORARY TABLE base_entry ON COMMIT DROP AS
    SELECT e.*,
           row_number() OVER (ORDER BY e.path COLLATE "C") AS ino,
           regexp_replace(e.path, '/[^/]*$', '') AS dir,
           regexp_replace(e.path, '^.*/', '') AS name
      FROM pgbox.base_entries() e;
    UPDATE pg_temp.base_entry SET dir = '/' WHERE dir = '';
    IF (SELECT max(b.ino) FROM pg_temp.base_entry b) >= pgbox.first_ino() THEN
        PERFORM pgbox.raise_errno('ENOSPC', 'refresh_base', '/');
    END IF;

    INSERT INTO pgbox.inode (layer_id, ino, kind, mode, uid, gid, nlink, rdev, size, mtime, ctime, target)
    SELECT v_id, b.ino, b.kind, b.mode, b.uid, b.uid,
           CASE b.kind WHEN pgbox.kind('dir') THEN 2 + (SELECT count(*) FROM pg_temp.base_entry c WHERE c.dir = b.path AND c.kind = pgbox.kind('dir') AND c.path <> '/')
                       ELSE 1 END,
           b.rdev, coalesce(octet_length(b.content), octet_length(b.target), 0), c_time, c_time, b.target
      FROM pg_temp.base_entry b;

    INSERT INTO pgbox.dirent (layer_id, parent_ino, name, ino)
    SELECT v_id, d.ino, b.name, b.ino
      FROM pg_temp.base_entry b
      JOIN pg_temp.base_entry d ON d.path = b.dir
     WHERE b.path <> '/';

    INSERT INTO pgbox.blob (sha256, size, data)
    SELECT DISTINCT sha256(b.content), octet_length(b.content), b.content
      FROM pg_temp.base_entry b
     WHERE b.content IS NOT NULL
    ON CONFLICT DO NOTHING;

    INSERT INTO pgbox.chunk (layer_id, ino, idx, sha256)
    SELECT v_id, b.ino, 0, sha256(b.content)
      FROM pg_temp.base_entry b
     WHERE b.content IS NOT NULL;

    DROP TABLE pg_temp.base_entry;
    RETURN v_id;
END
$$;

ALTER FUNCTION pgbox.refresh_base() OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION pgbox.refresh_base() IS
    'Makes the base layer that pgbox.base_entries() describes, unless it exists, and returns its id, which is a hash of its content. The migrator calls it.';
