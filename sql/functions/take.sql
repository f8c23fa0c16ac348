CREATE FUNCTION pgbox.take(p_layers uuid[], p_path text, p_from uuid[], p_ino bigint, p_fresh boolean) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_from    pgbox.inode := pgbox.inode_of(p_from, p_ino);
    v_here    pgbox.inode := pgbox.inode_of(p_layers, (pgbox.walk(p_layers, p_path, 'nofollow', NULL)).ino);
    v_sandbox pgbox.sandbox;
BEGIN
    IF v_here.ino IS NOT NULL AND (v_here.kind <> v_from.kind OR v_from.kind NOT IN (pgbox.kind('dir'), pgbox.kind('file')) OR p_fresh AND v_here.nlink > 1) THEN
        PERFORM fs.rm(p_path, true);
        v_here := NULL;
    END IF;
    IF v_from.kind = pgbox.kind('dir') THEN
        IF v_here.ino IS NULL THEN
            PERFORM fs.mkdir(p_path);
        END IF;
    ELSIF v_from.kind = pgbox.kind('symlink') THEN
        PERFORM fs.symlink(v_from.target, p_path);
    ELSIF v_from.kind = pgbox.kind('file') THEN
        PERFORM fs.write_file(p_path, '');
        v_here := pgbox.inode_of(p_layers, (pgbox.walk(p_layers, p_path, 'nofollow', 'merge')).ino);
        -- No bytes are copied: the chunks name the contents that the other side has.
        INSERT INTO pgbox.chunk AS k (layer_id, ino, idx, sha256)
        SELECT p_layers[1], v_here.ino, e.idx, e.sha256
          FROM (SELECT DISTINCT ON (c.idx) c.idx, c.sha256
                  FROM pgbox.chunk c
                 WHERE c.layer_id = ANY (p_from) AND c.ino = p_ino
                 ORDER BY c.idx, array_position(p_from, c.layer_id)) e
         WHERE e.sha256 IS NOT NULL
        ON CONFLICT ON CONSTRAINT chunk_pkey DO UPDATE SET sha256 = excluded.sha256;
        v_here.size := v_from.size;
        v_here.mtime := v_from.mtime;
        PERFORM pgbox.put_inode(p_layers[1], v_here);
        v_sandbox := pgbox.enter(true);
        PERFORM pgbox.record(v_sandbox, ARRAY['write'], ARRAY[p_path], NULL, ARRAY[v_here.ino], v_from.size,
                             p_size_before => ARRAY[0::bigint], p_hash_before => ARRAY[sha256('')]);
    ELSE
        PERFORM fs.mknod(p_path, v_from.kind, v_from.mode, v_from.rdev);
    END IF;
    IF v_from.kind <> pgbox.kind('symlink') THEN
        PERFORM fs.chmod(p_path, v_from.mode);
    END IF;
    PERFORM fs.chown(p_path, v_from.uid, v_from.gid, false);
    IF v_from.kind <> pgbox.kind('dir') THEN
        PERFORM fs.utimes(p_path, v_from.mtime, false);
    END IF;
END
$$;

ALTER FUNCTION pgbox.take(uuid[], text, uuid[], bigint, boolean) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION pgbox.take(uuid[], text, uuid[], bigint, boolean) IS
    'Makes what is at a path of the sandbox in scope, which stands on p_layers, like an inode of another chain: kind, content, mode, owner, time. A directory keeps what is in it. p_fresh: it is a different file there, so other names of the file here keep their content.';
