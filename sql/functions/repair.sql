CREATE FUNCTION fs.repair(p_sandbox uuid) RETURNS SETOF fs.fault
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET jit = off
AS $$
DECLARE
    -- What each pass mends. Later ones depend on the earlier: a name that goes changes a link count, a file that goes the usage.
    c_names  constant text[] := ARRAY['unsealed_layer', 'dangling_dirent', 'orphan_dirent', 'orphan_chunk', 'chunk_past_end', 'next_ino'];
    c_lost   constant text[] := ARRAY['unreachable_inode'];
    c_counts constant text[] := ARRAY['nlink'];
    c_usage  constant text[] := ARRAY['used_bytes', 'used_inodes'];
    v_sandbox pgbox.sandbox := pgbox.lock_sandbox(p_sandbox);
    v_layers  uuid[] := v_sandbox.layers;
    v_now     bigint := pgbox.now_ns();
    v_lost    bigint;
    n         pgbox.inode;
    f         fs.fault;
    v_done    boolean := false;
    v_op      text[]   := '{}';
    v_path    text[]   := '{}';
    v_ino     bigint[] := '{}';
BEGIN
    PERFORM set_config('app.sandbox_id', p_sandbox::text, true), set_config('app.at', '', true), set_config('app.layers', v_layers::text, true);
    IF (pgbox.inode_of(v_layers, 1)).kind IS DISTINCT FROM pgbox.kind('dir') THEN
        RETURN; -- there is nothing to hang anything on
    END IF;
    FOR f IN SELECT c.* FROM fs.fsck() c WHERE c.check_name = 'sealed_top' LOOP
        INSERT INTO pgbox.layer (id) VALUES (pgbox.new_layer_id()) RETURNING id || v_layers INTO v_layers;
        UPDATE pgbox.sandbox s SET layers = v_layers WHERE s.id = p_sandbox;
        v_done := true;
        RETURN NEXT f;
    END LOOP;
    FOR v_pass IN 1..4 LOOP
        FOR f IN
            SELECT c.* FROM fs.fsck() c
             WHERE c.check_name = ANY (CASE v_pass WHEN 1 THEN c_names WHEN 2 THEN c_lost WHEN 3 THEN c_counts ELSE c_usage END)
        LOOP
            CASE f.check_name
            WHEN 'unsealed_layer' THEN
                -- Unless somebody else writes there.
                UPDATE pgbox.layer l SET sealed_at = v_sandbox.last_used_at
                 WHERE l.id = f.detail::uuid
                   AND NOT EXISTS (SELECT FROM pgbox.sandbox s WHERE s.layers @> ARRAY[l.id] AND s.layers[1] = l.id AND s.deleted_at IS NULL);
                CONTINUE WHEN NOT FOUND;
            WHEN 'dangling_dirent', 'orphan_dirent' THEN
                PERFORM pgbox.set_name(v_layers, f.dir, f.name, NULL);
                v_op := v_op || 'unlink'::text;
                v_path := v_path || (coalesce((SELECT min(d.path) FROM pgbox.dir_paths(v_layers, ARRAY[f.dir]) d), '/lost+found/#' || f.dir) || '/' || f.name);
                v_ino := v_ino || f.ino;
            WHEN 'orphan_chunk', 'chunk_past_end' THEN
                DELETE FROM pgbox.chunk c WHERE c.layer_id = v_layers[1] AND c.ino = f.ino AND c.idx = f.idx;
                INSERT INTO pgbox.chunk (layer_id, ino, idx, sha256)
                SELECT v_layers[1], f.ino, f.idx, NULL
                 WHERE EXISTS (SELECT FROM pgbox.chunk c WHERE c.layer_id = ANY (v_layers[2:]) AND c.ino = f.ino AND c.idx = f.idx AND c.sha256 IS NOT NULL);
            WHEN 'next_ino' THEN
                UPDATE pgbox.sandbox s SET next_ino = f.want WHERE s.id = p_sandbox;
            WHEN 'unreachable_inode' THEN
                -- What has a name in a lost directory comes back with that; a circle of directories stays.
                CONTINUE WHEN EXISTS (
                    SELECT FROM pgbox.dirent d
                     WHERE d.layer_id = ANY (v_layers) AND d.ino = f.ino AND pgbox.lookup(v_layers, d.parent_ino, d.name) = f.ino);
                v_lost := pgbox.lookup(v_layers, 1, 'lost+found');
                IF v_lost IS NULL THEN
                    SELECT s.* INTO v_sandbox FROM pgbox.sandbox s WHERE s.id = p_sandbox;
                    v_sandbox.layers := v_layers;
                    n := NULL;
                    n.kind := pgbox.kind('dir');
                    n.mode := 448;
                    v_lost := (pgbox.create_inode(v_sandbox, 1, 'lost+found', n)).ino;
                    UPDATE pgbox.sandbox s SET next_ino = v_lost + 1 WHERE s.id = p_sandbox;
                    v_op := v_op || 'mkdir'::text;
                    v_path := v_path || '/lost+found'::text;
                    v_ino := v_ino || v_lost;
                END IF;
                CONTINUE WHEN (pgbox.inode_of(v_layers, v_lost)).kind IS DISTINCT FROM pgbox.kind('dir');
                PERFORM pgbox.set_name(v_layers, v_lost, '#' || f.ino, f.ino);
                v_op := v_op || 'link'::text;
                v_path := v_path || ('/lost+found/#' || f.ino);
                v_ino := v_ino || f.ino;
            WHEN 'nlink' THEN
                n := pgbox.inode_of(v_layers, f.ino);
                n.nlink := f.want;
                n.ctime := v_now;
                PERFORM pgbox.put_inode(v_layers[1], n);
            WHEN 'used_bytes' THEN
                UPDATE pgbox.sandbox s SET used_bytes = f.want WHERE s.id = p_sandbox;
            WHEN 'used_inodes' THEN
                UPDATE pgbox.sandbox s SET used_inodes = f.want WHERE s.id = p_sandbox;
            END CASE;
            v_done := true;
            RETURN NEXT f;
        END LOOP;
    END LOOP;
    IF v_done THEN
        SELECT s.* INTO v_sandbox FROM pgbox.sandbox s WHERE s.id = p_sandbox;
        PERFORM pgbox.record(v_sandbox, v_op, v_path, NULL, v_ino);
    END IF;
END
$$;

ALTER FUNCTION fs.repair(uuid) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION fs.repair(uuid) IS
    'Repairs what fs.fsck() finds in a sandbox, as far as nothing reachable is lost: usage, link counts, next_ino, dirents and chunks without an inode, seals. Files and directories without a name get one in /lost+found. All of it is one version. Returns what was repaired. The rest (lost or corrupt content, cycles of directories, missing layers) needs a restore.';
