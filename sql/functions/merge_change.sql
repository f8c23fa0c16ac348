CREATE FUNCTION pgbox.merge_change(
    p_layers uuid[], p_base uuid[], p_from uuid[], p_kin boolean, p_conflict text, p_sources bigint[],
    p_status text, p_path text, p_kind smallint, p_ino bigint, p_path_from text, p_ino_from bigint,
    INOUT moved text[], INOUT aside bigint[], INOUT linked jsonb,
    OUT path text, OUT outcome text, OUT detail text, OUT winner text)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off
    SET plan_cache_mode = force_generic_plan
    SET jit = off
AS $$
DECLARE
    v_at    record := pgbox.merge_place(p_layers, p_base, p_from, p_kin, moved, p_status, p_path, p_path_from, p_ino_from);
    v_was   text := (SELECT d.looks FROM pgbox.describe_inodes(p_base, ARRAY[p_ino_from]) d);
    v_new   text;
    v_is    text := pgbox.looks_at(p_layers, v_at.here);
    v_moved boolean := v_at.renamed AND p_ino_from <> ALL (aside);
    v_wall  text;
    v_apply boolean := true;
    v_there record;
    v_link  text;
    v_dir   text;
    v_count integer;
BEGIN
    path := v_at.target;
    outcome := 'merged';
    detail := '';
    winner := '';
    v_dir := coalesce(nullif(regexp_replace(path, '/[^/]*$', ''), ''), '/');
    IF p_status = 'D' THEN
        IF v_is IS NULL THEN
            outcome := 'same';
        ELSIF p_kind = 4 AND NOT pgbox.is_empty(p_layers, (pgbox.walk(p_layers, v_at.here, 'nofollow', NULL)).ino) THEN
            outcome := 'kept';
            detail := 'holds what the other side does not know';
        ELSIF v_moved OR v_is <> v_was THEN
            outcome := 'conflict';
            detail := CASE WHEN v_moved THEN 'renamed here, deleted there' ELSE 'changed here, deleted there' END;
        END IF;
        IF outcome = 'merged' OR outcome = 'conflict' AND p_conflict = 'theirs' THEN
            PERFORM fs.rm(v_at.here, p_kind <> 4);
            winner := 'theirs';
        END IF;
        v_apply := false;
    ELSE
        v_new := (SELECT d.looks FROM pgbox.describe_inodes(p_from, ARRAY[p_ino]) d);
        v_wall := pgbox.obstacle(p_layers, path);
        IF v_wall IS NOT NULL THEN
            -- Nothing is ever written through a symlink that has taken the place of a directory.
            outcome := 'conflict';
            detail := v_wall || ' is not a directory here';
            v_apply := false;
        ELSIF p_kin AND p_status IN ('A', 'R') AND p_conflict IN ('lines', 'fail') THEN
            -- What has its place here goes elsewhere itself: out of the way until its turn comes.
            v_there := pgbox.walk(p_layers, path, 'nofollow', NULL);
            IF v_there.ino = ANY (p_sources) AND v_there.ino <> p_ino AND v_there.ino <> ALL (aside)
               AND pgbox.lookup(p_base, v_there.dir, v_there.name) = v_there.ino THEN
                PERFORM fs.mv(path, '/.merge-' || v_there.ino);
                aside := aside || v_there.ino;
            END IF;
        END IF;
    END IF;

    IF p_status = 'R' AND v_wall IS NULL THEN
        IF v_at.here = path AND v_is IS NOT NULL OR v_is IS NULL AND pgbox.looks_at(p_layers, path) = v_new THEN
            outcome := 'same';
        ELSIF v_is IS NULL THEN
            outcome := 'conflict';
            detail := 'deleted here, renamed there';
        ELSIF v_moved THEN
            outcome := 'conflict';
            detail := 'renamed on both sides';
        ELSIF pgbox.looks_at(p_layers, path) IS NOT NULL THEN
            outcome := 'conflict';
            detail := 'renamed there to what exists here';
        END IF;
        IF v_is IS NOT NULL AND v_at.here <> path AND (outcome = 'merged' OR outcome = 'conflict' AND p_conflict = 'theirs')
           AND NOT starts_with(path, v_at.here || '/') THEN
            IF pgbox.looks_at(p_layers, path) IS NOT NULL THEN
                PERFORM fs.rm(path, true);
            END IF;
            PERFORM fs.mkdir(v_dir, p_parents => true);
            PERFORM fs.mv(v_at.here, path);
            winner := 'theirs';
            IF p_kind = 4 THEN
                moved := moved || v_at.here || path;
            END IF;
            v_is := pgbox.looks_at(p_layers, path);
        ELSIF v_is IS NULL AND outcome = 'conflict' AND p_conflict = 'theirs' AND p_kind <> 4 THEN
            PERFORM fs.mkdir(v_dir, p_parents => true);
            PERFORM pgbox.take(p_layers, path, p_from, p_ino, false);
            winner := 'theirs';
        END IF;
        -- It may have been changed as well.
        v_apply := v_was <> v_new AND outcome <> 'conflict';
    ELSIF v_apply THEN
        v_is := pgbox.looks_at(p_layers, path);
    END IF;

    IF v_apply AND (v_is = v_new OR p_status = 'A' AND p_kind = 4 AND starts_with(v_is, '4|')) THEN
        outcome := CASE WHEN p_status = 'R' THEN outcome ELSE 'same' END;
        v_apply := false;
    ELSIF v_apply THEN
        IF v_is IS DISTINCT FROM (CASE WHEN p_status <> 'A' THEN v_was END) THEN
            outcome := 'conflict';
            detail := CASE WHEN p_status = 'A' THEN 'added on both sides' WHEN v_is IS NULL THEN 'deleted here, changed there' ELSE 'changed on both sides' END;
        -- A directory that became something else must hold nothing that only ours knows.
        ELSIF starts_with(v_is, '4|') AND p_kind <> 4 AND EXISTS (
            SELECT FROM pgbox.subtree(p_layers, (pgbox.walk(p_layers, path, 'nofollow', NULL)).ino, path, NULL) t WHERE t.depth > 0 AND t.kind <> 4) THEN
            outcome := 'conflict';
            detail := 'holds what the other side does not know';
        ELSIF (pgbox.walk(p_layers, v_dir, 'nofollow', NULL)).kind IS DISTINCT FROM 4 THEN
            outcome := 'conflict';
            detail := 'its directory was deleted here';
        ELSE
            outcome := 'merged';
        END IF;
        IF p_conflict IN ('lines', 'markers') AND detail IN ('added on both sides', 'changed on both sides') THEN
            v_count := pgbox.merge_files(p_layers, path, p_base, CASE WHEN p_status = 'A' THEN 0 ELSE p_ino_from END, p_from, p_ino, p_conflict = 'markers');
            IF v_count = 0 THEN
                outcome := 'merged';
                detail := 'line by line';
                winner := 'both';
                v_apply := false;
            ELSIF v_count > 0 THEN
                detail := format('%s, %s%s', detail, CASE v_count WHEN 1 THEN 'one place' ELSE v_count || ' places' END,
                                 CASE p_conflict WHEN 'markers' THEN ' marked' ELSE '' END);
                winner := CASE p_conflict WHEN 'markers' THEN 'both' ELSE '' END;
            END IF;
        END IF;
        IF v_apply AND (outcome = 'merged' OR outcome = 'conflict' AND p_conflict = 'theirs') THEN
            IF (pgbox.walk(p_layers, v_dir, 'nofollow', NULL)).kind IS DISTINCT FROM 4 THEN
                PERFORM fs.mkdir(v_dir, p_parents => true);
            END IF;
            -- Another name of a file that is here is a link to it here, too.
            IF p_status = 'A' AND v_is IS NULL AND p_kind = 8 AND (pgbox.inode_of(p_from, p_ino)).nlink > 1 THEN
                v_link := CASE WHEN p_kin AND (pgbox.inode_of(p_base, p_ino)).ino IS NOT NULL
                               THEN (SELECT min(d.path) FROM pgbox.dir_paths(p_layers, ARRAY[p_ino]) d) ELSE linked->>p_ino::text END;
            END IF;
            IF v_link IS NOT NULL THEN
                PERFORM fs.link(v_link, path);
            ELSE
                PERFORM pgbox.take(p_layers, path, p_from, p_ino, p_ino <> p_ino_from);
                linked := linked || jsonb_build_object(p_ino, path);
            END IF;
            winner := 'theirs';
        END IF;
    END IF;
    IF outcome <> 'conflict' THEN
        winner := '';
    ELSIF winner = '' THEN
        winner := CASE WHEN p_conflict IN ('lines', 'fail') THEN 'none' ELSE 'ours' END;
    END IF;
END
$$;

ALTER FUNCTION pgbox.merge_change(uuid[], uuid[], uuid[], boolean, text, bigint[], text, text, smallint, bigint, text, bigint, text[], bigint[], jsonb) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION pgbox.merge_change(uuid[], uuid[], uuid[], boolean, text, bigint[], text, text, smallint, bigint, text, bigint, text[], bigint[], jsonb) IS
    'Does one change of pgbox.compare() in the sandbox in scope, or says why not, with the outcomes of fs.merge(). moved are the directories renamed so far: from and to by turns. aside are files that were moved out of the way and wait for their own rename. linked says where files that were taken are now, by their number on the other side. p_sources are the numbers of everything that is renamed.';
