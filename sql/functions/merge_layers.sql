CREATE FUNCTION pgbox.merge_layers(p_layers uuid[], p_count integer) RETURNS uuid[]
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off
    SET jit = off
AS $$
DECLARE
    v_from  uuid[] := p_layers[:p_count];
    v_lower uuid[] := p_layers[p_count + 1:];
    v_new   uuid;
    v_part  bigint;
    v_rows  bigint := 0;
BEGIN
    INSERT INTO pgbox.layer (id) VALUES (pgbox.new_layer_id()) RETURNING id INTO v_new;

    -- A whiteout stays as long as there is something below that it hides.
    INSERT INTO pgbox.inode (layer_id, ino, kind, mode, uid, gid, nlink, rdev, size, mtime, ctime, target)
    SELECT v_new, r.ino, r.kind, r.mode, r.uid, r.gid, r.nlink, r.rdev, r.size, r.mtime, r.ctime, r.target
      FROM (SELECT DISTINCT ON (i.ino) i.* FROM pgbox.inode i
             WHERE i.layer_id = ANY (v_from)
             ORDER BY i.ino, array_position(v_from, i.layer_id)) r
     WHERE r.kind <> pgbox.kind('whiteout') OR EXISTS (SELECT FROM pgbox.inode b WHERE b.layer_id = ANY (v_lower) AND b.ino = r.ino);
    GET DIAGNOSTICS v_part = ROW_COUNT;
    v_rows := v_rows + v_part;

    INSERT INTO pgbox.dirent (layer_id, parent_ino, name, ino)
    SELECT v_new, r.parent_ino, r.name, r.ino
      FROM (SELECT DISTINCT ON (d.parent_ino, d.name) d.* FROM pgbox.dirent d
             WHERE d.layer_id = ANY (v_from)
             ORDER BY d.parent_ino, d.name, array_position(v_from, d.layer_id)) r
     WHERE r.ino IS NOT NULL
        OR EXISTS (SELECT FROM pgbox.dirent b WHERE b.layer_id = ANY (v_lower) AND b.parent_ino = r.parent_ino AND b.name = r.name);
    GET DIAGNOSTICS v_part = ROW_COUNT;
    v_rows := v_rows + v_part;

    -- The chunks of an inode that is gone went with it.
    INSERT INTO pgbox.chunk (layer_id, ino, idx, sha256)
    SELECT v_new, r.ino, r.idx, r.sha256
      FROM (SELECT DISTINCT ON (c.ino, c.idx) c.* FROM pgbox.chunk c
             WHERE c.layer_id = ANY (v_from)
             ORDER BY c.ino, c.idx, array_position(v_from, c.layer_id)) r
     WHERE (r.sha256 IS NOT NULL OR EXISTS (SELECT FROM pgbox.chunk b WHERE b.layer_id = ANY (v_lower) AND b.ino = r.ino AND b.idx = r.idx))
       AND NOT EXISTS (SELECT FROM (SELECT i.kind FROM pgbox.inode i
                                     WHERE i.layer_id = ANY (v_from) AND i.ino = r.ino
                                     ORDER BY array_position(v_from, i.layer_id) LIMIT 1) n
                        WHERE n.kind = pgbox.kind('whiteout'));
    GET DIAGNOSTICS v_part = ROW_COUNT;
    v_rows := v_rows + v_part;

    INSERT INTO pgbox.kv (layer_id, key, value, version)
    SELECT v_new, r.key, r.value, r.version
      FROM (SELECT DISTINCT ON (k.key) k.* FROM pgbox.kv k
             WHERE k.layer_id = ANY (v_from)
             ORDER BY k.key, array_position(v_from, k.layer_id)) r
     WHERE r.value IS NOT NULL OR EXISTS (SELECT FROM pgbox.kv b WHERE b.layer_id = ANY (v_lower) AND b.key = r.key);
    GET DIAGNOSTICS v_part = ROW_COUNT;

    UPDATE pgbox.layer l SET row_count = v_rows + v_part WHERE l.id = v_new;
    RETURN v_new || v_lower;
END
$$;

ALTER FUNCTION pgbox.merge_layers(uuid[], integer) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION pgbox.merge_layers(uuid[], integer) IS
    'Copies what the newest p_count layers of a chain hold into one new layer, and returns the chain with that layer in their place.';
