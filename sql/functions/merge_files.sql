CREATE FUNCTION pgbox.merge_files(
    p_layers uuid[], p_path text, p_base uuid[], p_base_ino bigint, p_from uuid[], p_from_ino bigint, p_markers boolean) RETURNS integer
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    c_longest constant bigint := 1048576;
    v_ours    pgbox.inode := pgbox.inode_of(p_layers, (pgbox.walk(p_layers, p_path, 'nofollow', NULL)).ino);
    v_base    pgbox.inode := pgbox.inode_of(p_base, p_base_ino);
    v_theirs  pgbox.inode := pgbox.inode_of(p_from, p_from_ino);
    v_looks   text[]; -- size and content: of the base, ours, theirs
    v_mode    integer := v_ours.mode;
    v_uid     integer := v_ours.uid;
    v_gid     integer := v_ours.gid;
    v_old     bytea := '';
    v_data    bytea;
    v_new     bytea;
    v_text    record;
    v_count   integer := 0;
BEGIN
    IF v_ours.kind IS DISTINCT FROM 8 OR v_theirs.kind IS DISTINCT FROM 8 OR coalesce(v_base.kind, 8) <> 8 THEN
        RETURN NULL;
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
        RETURN NULL;
    END IF;
    v_looks := ARRAY[
        (SELECT d.looks FROM pgbox.describe_inodes(p_base, ARRAY[p_base_ino]) d),
        (SELECT d.looks FROM pgbox.describe_inodes(p_layers, ARRAY[v_ours.ino]) d),
        (SELECT d.looks FROM pgbox.describe_inodes(p_from, ARRAY[p_from_ino]) d)];
    v_looks := ARRAY(SELECT regexp_replace(u.looks, '^([0-9]+[|]){4}', '') FROM unnest(v_looks) WITH ORDINALITY AS u (looks, n) ORDER BY u.n);
    IF v_looks[2] = v_looks[1] THEN
        PERFORM pgbox.take(p_layers, p_path, p_from, p_from_ino, false);
    ELSIF v_looks[3] NOT IN (coalesce(v_looks[1], ''), v_looks[2]) THEN
        IF greatest(v_ours.size, v_theirs.size, v_base.size) > c_longest THEN
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
        v_count := v_text.conflicts;
        IF v_text.merged <> v_data AND (p_markers OR v_count = 0) THEN
            PERFORM fs.write_file(p_path, v_text.merged);
        END IF;
    END IF;
    IF p_markers OR v_count = 0 THEN
        PERFORM fs.chmod(p_path, v_mode);
        PERFORM fs.chown(p_path, v_uid, v_gid, false);
    END IF;
    RETURN v_count;
END
$$;

ALTER FUNCTION pgbox.merge_files(uuid[], text, uuid[], bigint, uuid[], bigint, boolean) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION pgbox.merge_files(uuid[], text, uuid[], bigint, uuid[], bigint, boolean) IS
    'Merges one regular file that both sides changed since a common base (p_base_ino 0: none) into the sandbox in scope: content, mode and owner each by itself, texts line by line (pgbox.merge_texts). Returns the number of places that both sides changed differently. If there are any, nothing is written, or with p_markers both sides are, marked. NULL, and nothing done, when it cannot be merged: binary or more than 1 MiB, not a regular file, or mode or owner changed differently.';
