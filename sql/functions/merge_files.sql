CREATE FUNCTION pgbox.merge_files(p_layers uuid[], p_path text, p_base uuid[], p_base_ino bigint, p_from uuid[], p_from_ino bigint) RETURNS integer
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    c_longest constant bigint := 1048576;
    v_ours    pgbox.inode := pgbox.inode_of(p_layers, (pgbox.walk(p_layers, p_path, 'nofollow', NULL)).ino);
    v_base    pgbox.inode := pgbox.inode_of(p_base, p_base_ino);
    v_theirs  pgbox.inode := pgbox.inode_of(p_from, p_from_ino);
    v_old     bytea := '';
    v_data    bytea;
    v_new     bytea;
    v_text    record;
BEGIN
    IF v_ours.kind IS DISTINCT FROM 8 OR v_theirs.kind IS DISTINCT FROM 8 OR coalesce(v_base.kind, 8) <> 8
       OR greatest(v_ours.size, v_theirs.size, v_base.size) > c_longest THEN
        RETURN NULL;
    END IF;
    IF v_base.ino IS NOT NULL THEN
        v_old := pgbox.content_of(p_base, v_base.ino, v_base.size, 0, v_base.size);
    END IF;
    v_data := pgbox.content_of(p_layers, v_ours.ino, v_ours.size, 0, v_ours.size);
    v_new := pgbox.content_of(p_from, v_theirs.ino, v_theirs.size, 0, v_theirs.size);
    IF position('\x00'::bytea IN v_old || v_data || v_new) > 0 THEN
        RETURN NULL;
    END IF;
    v_text := pgbox.merge_texts(v_old, v_data, v_new);
    IF v_text.merged <> v_data THEN
        PERFORM fs.write_file(p_path, v_text.merged);
    END IF;
    -- A mode or an owner that only the other side changed comes along.
    IF v_theirs.mode <> v_base.mode AND v_ours.mode = v_base.mode THEN
        PERFORM fs.chmod(p_path, v_theirs.mode);
    END IF;
    IF (v_theirs.uid, v_theirs.gid) <> (v_base.uid, v_base.gid) AND (v_ours.uid, v_ours.gid) = (v_base.uid, v_base.gid) THEN
        PERFORM fs.chown(p_path, v_theirs.uid, v_theirs.gid, false);
    END IF;
    RETURN v_text.conflicts;
END
$$;

ALTER FUNCTION pgbox.merge_files(uuid[], text, uuid[], bigint, uuid[], bigint) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION pgbox.merge_files(uuid[], text, uuid[], bigint, uuid[], bigint) IS
    'Writes what pgbox.merge_texts() makes of the text at a path of the sandbox in scope and of another chain, since a common one (p_base_ino 0: none), and returns the number of places that are marked. NULL, and nothing is done, when one of them is no text of at most 1 MiB.';
