CREATE FUNCTION pgbox.merge_files(
    p_layers uuid[], p_path text, p_ino bigint, p_base uuid[], p_base_ino bigint, p_from uuid[], p_from_ino bigint, p_markers boolean,
    OUT places integer, OUT steps fs.merge_step[])
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    c_longest constant bigint := 1048576;
    c_file    constant smallint := pgbox.kind('file');
    v_ours    pgbox.inode := pgbox.inode_of(p_layers, p_ino);
    v_base    pgbox.inode := pgbox.inode_of(p_base, p_base_ino);
    v_theirs  pgbox.inode := pgbox.inode_of(p_from, p_from_ino);
    v_content text[]; -- of the base, ours, theirs
    v_mode    integer := v_ours.mode;
    v_uid     integer := v_ours.uid;
    v_gid     integer := v_ours.gid;
    v_old     bytea := '';
    v_data    bytea;
    v_new     bytea;
    v_text    record;
BEGIN
    steps := '{}';
    IF v_ours.kind IS DISTINCT FROM c_file OR v_theirs.kind IS DISTINCT FROM c_file OR v_base.kind <> c_file THEN
        RETURN;
    END IF;
    -- A mode or an owner that only the other side changed comes along.
    IF v_theirs.mode IS DISTINCT FROM v_base.mode AND v_theirs.mode <> v_ours.mode THEN
        v_mode := CASE WHEN v_ours.mode = v_base.mode THEN v_theirs.mode END;
    END IF;
    IF (v_theirs.uid, v_theirs.gid) IS DISTINCT FROM (v_base.uid, v_base.gid) AND (v_theirs.uid, v_theirs.gid) <> (v_ours.uid, v_ours.gid) THEN
        v_uid := CASE WHEN (v_ours.uid, v_ours.gid) = (v_base.uid, v_base.gid) THEN v_theirs.uid END;
        v_gid := v_theirs.gid;
    END IF;
    IF v_mode IS NULL OR v_uid IS NULL THEN
        RETURN;
    END IF;
    v_content := ARRAY[
        (SELECT d.content FROM pgbox.describe_inodes(p_base, ARRAY[p_base_ino]) d),
        (SELECT d.content FROM pgbox.describe_inodes(p_layers, ARRAY[v_ours.ino]) d),
        (SELECT d.content FROM pgbox.describe_inodes(p_from, ARRAY[p_from_ino]) d)];
    places := 0;
    IF v_content[2] = v_content[1] THEN
        steps := steps || pgbox.merge_verb('take', p_path, p_ino => p_from_ino);
    ELSIF v_content[3] NOT IN (coalesce(v_content[1], ''), v_content[2]) THEN
        IF greatest(v_ours.size, v_theirs.size, v_base.size) > c_longest THEN
            places := NULL;
            RETURN;
        END IF;
        IF v_base.ino IS NOT NULL THEN
            v_old := pgbox.content_of(p_base, v_base.ino, v_base.size, 0, v_base.size);
        END IF;
        v_data := pgbox.content_of(p_layers, v_ours.ino, v_ours.size, 0, v_ours.size);
        v_new := pgbox.content_of(p_from, v_theirs.ino, v_theirs.size, 0, v_theirs.size);
        IF position('\x00'::bytea IN v_old || v_data || v_new) > 0 THEN
            places := NULL;
            RETURN;
        END IF;
        v_text := pgbox.merge_texts(v_old, v_data, v_new);
        places := v_text.conflicts;
        IF v_text.merged <> v_data AND (p_markers OR places = 0) THEN
            steps := steps || pgbox.merge_verb('write', p_path, p_data => v_text.merged);
        END IF;
    END IF;
    IF p_markers OR places = 0 THEN
        steps := steps || pgbox.merge_verb('attributes', p_path, p_mode => v_mode, p_uid => v_uid, p_gid => v_gid);
    END IF;
END
$$;

ALTER FUNCTION pgbox.merge_files(uuid[], text, bigint, uuid[], bigint, uuid[], bigint, boolean) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION pgbox.merge_files(uuid[], text, bigint, uuid[], bigint, uuid[], bigint, boolean) IS
    'Plans the merge of one regular file that both sides changed since a common base (p_base_ino 0: none); p_path is where it will be when the steps are done. Content, mode and owner are merged each by itself, texts line by line (pgbox.merge_texts). places is the number of places that both sides changed differently. If there are any, nothing is to be written, or with p_markers both sides are, marked. places is NULL when the file cannot be merged: binary or more than 1 MiB, not a regular file, or mode or owner changed differently.';
