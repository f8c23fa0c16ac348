CREATE FUNCTION pgbox.merge_layers(p_layers uuid[]) RETURNS uuid[]
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_base uuid   := p_layers[cardinality(p_layers)];
    v_from uuid[] := p_layers[:cardinality(p_layers) - 1];
    v_new  uuid;
BEGIN
    INSERT INTO pgbox.layer (id) VALUES (gen_random_uuid()) RETURNING id INTO v_new;

    INSERT INTO pgbox.inode (layer_id, ino, kind, mode, uid, gid, nlink, rdev, size, mtime, ctime, target)
    SELECT v_new, r.ino, r.kind, r.mode, r.uid, r.gid, r.nlink, r.rdev, r.size, r.mtime, r.ctime, r.target
      FROM (SELECT DISTINCT ON (i.ino) i.* FROM pgbox.inode i
             WHERE i.layer_id = ANY (v_from)
             ORDER BY i.ino, array_position(v_from, i.layer_id)) r
     WHERE r.kind <> 0 OR EXISTS (SELECT FROM pgbox.inode b WHERE b.layer_id = v_base AND b.ino = r.ino);

    INSERT INTO pgbox.dirent (layer_id, parent_ino, name, ino)
    SELECT v_new, r.parent_ino, r.name, r.ino
      FROM (SELECT DISTINCT ON (d.parent_ino, d.name) d.* FROM pgbox.dirent d
             WHERE d.layer_id = ANY (v_from)
             ORDER BY d.parent_ino, d.name, array_position(v_from, d.layer_id)) r
     WHERE r.ino IS NOT NULL
        OR EXISTS (SELECT FROM pgbox.dirent b WHERE b.layer_id = v_base AND b.parent_ino = r.parent_ino AND b.name = r.name);

    -- The chunks of an inode that is gone went with it.
    INSERT INTO pgbox.chunk (layer_id, ino, idx, sha256)
    SELECT v_new, r.ino, r.idx, r.sha256
      FROM (SELECT DISTINCT ON (c.ino, c.idx) c.* FROM pgbox.chunk c
             WHERE c.layer_id = ANY (v_from)
             ORDER BY c.ino, c.idx, array_position(v_from, c.layer_id)) r
     WHERE (r.sha256 IS NOT NULL OR EXISTS (SELECT FROM pgbox.chunk b WHERE b.layer_id = v_base AND b.ino = r.ino AND b.idx = r.idx))
       AND NOT EXISTS (SELECT FROM (SELECT i.kind FROM pgbox.inode i
                                     WHERE i.layer_id = ANY (v_from) AND i.ino = r.ino
                                     ORDER BY array_position(v_from, i.layer_id) LIMIT 1) n
                        WHERE n.kind = 0);

    INSERT INTO pgbox.kv (layer_id, key, value)
    SELECT v_new, r.key, r.value
      FROM (SELECT DISTINCT ON (k.key) k.* FROM pgbox.kv k
             WHERE k.layer_id = ANY (v_from)
             ORDER BY k.key, array_position(v_from, k.layer_id)) r
     WHERE r.value IS NOT NULL OR EXISTS (SELECT FROM pgbox.kv b WHERE b.layer_id = v_base AND b.key = r.key);

    RETURN ARRAY[v_new, v_base];
END
$$;

ALTER FUNCTION pgbox.merge_layers(uuid[]) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION pgbox.merge_layers(uuid[]) IS
    'Copies what a chain holds above its lowest layer into one new layer, and returns the new chain of those two.';
