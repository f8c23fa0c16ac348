-- It is STABLE: nothing is changed before everything about a change is decided.
CREATE FUNCTION pgbox.merge_plan(
    p_layers uuid[], p_base uuid[], p_from uuid[], p_kin boolean, p_conflict text, p_sources bigint[],
    p_status text, p_path text, p_kind smallint, p_ino bigint, p_path_from text, p_ino_from bigint,
    INOUT moved text[], INOUT aside bigint[], INOUT linked jsonb,
    OUT path text, OUT outcome text, OUT detail text, OUT winner text, OUT steps fs.merge_step[])
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off
    SET plan_cache_mode = force_generic_plan
    SET jit = off
AS $$
DECLARE
    c_strict constant boolean := p_conflict IN ('lines', 'fail'); -- a conflict takes everything back
    c_dir    constant smallint := pgbox.kind('dir');
    v_at     record := pgbox.merge_place(p_layers, p_base, p_from, p_kin, moved, p_status, p_path, p_path_from, p_ino_from);
    v_here   text := v_at.here;
    v_was    text := (SELECT d.looks FROM pgbox.describe_inodes(p_base, ARRAY[p_ino_from]) d);
    v_new    text := (SELECT d.looks FROM pgbox.describe_inodes(p_from, ARRAY[p_ino]) d WHERE p_status <> 'D');
    v_is     text := pgbox.looks_at(p_layers, v_here);
    v_is_dir boolean;
    v_moved  boolean := v_at.renamed AND p_ino_from <> ALL (aside);
    v_taken  text; -- what is at path when the first steps are done
    v_wall   text;
    v_apply  boolean := true;
    v_there  record;
    v_stay   bigint := 0;
    v_leave  fs.merge_step[];
    v_leaving bigint[];
    v_place  text; -- where what may have been changed is before the first step
    v_link   text;
    v_dir    text;
    v_files  record;
BEGIN
    path := v_at.target;
    outcome := 'merged';
    detail := '';
    winner := '';
    steps := '{}';
    v_place := CASE WHEN p_status = 'R' THEN v_at.here ELSE path END;
    v_dir := coalesce(nullif(regexp_replace(path, '/[^/]*$', ''), ''), '/');

    IF p_status = 'D' THEN
        IF v_is IS NOT NULL AND p_kind = c_dir THEN
            -- What the other side has moved out of it goes out of the way until its turn comes.
            SELECT count(*) FILTER (WHERE NOT g.leaves),
                   array_agg(pgbox.merge_verb('mv', v_here || '/' || g.name, '/.merge-' || g.ino)) FILTER (WHERE g.leaves),
                   array_agg(g.ino) FILTER (WHERE g.leaves)
              INTO v_stay, v_leave, v_leaving
              FROM (SELECT e.name, e.ino, coalesce(c_strict AND p_kin AND p_sources[width_bucket(e.ino, p_sources)] = e.ino, false) AS leaves
                      FROM pgbox.entries(p_layers, (pgbox.walk(p_layers, v_here, 'nofollow', NULL)).ino) e) g;
        END IF;
        IF v_is IS NULL THEN
            outcome := 'same';
        ELSIF v_stay > 0 THEN
            outcome := 'kept';
            detail := 'holds what the other side does not know';
        ELSIF v_moved OR v_is <> v_was THEN
            outcome := 'conflict';
            detail := CASE WHEN v_moved THEN 'renamed here, deleted there' ELSE 'changed here, deleted there' END;
        END IF;
        IF outcome = 'merged' OR outcome = 'conflict' AND p_conflict = 'theirs' THEN
            steps := steps || v_leave || pgbox.merge_verb(CASE WHEN p_kind = c_dir THEN 'rm' ELSE 'rm -r' END, v_here);
            aside := aside || v_leaving;
            winner := 'theirs';
        END IF;
        v_apply := false;
    ELSE
        v_wall := pgbox.obstacle(p_layers, path);
        v_taken := pgbox.looks_at(p_layers, path);
        IF v_wall IS NOT NULL THEN
            -- Nothing is ever written through a symlink that has taken the place of a directory.
            outcome := 'conflict';
            detail := v_wall || ' is not a directory here';
            v_apply := false;
        ELSIF p_kin AND p_status IN ('A', 'R') AND c_strict THEN
            -- What has its place here goes elsewhere itself: out of the way until its turn comes.
            v_there := pgbox.walk(p_layers, path, 'nofollow', NULL);
            IF p_sources[width_bucket(v_there.ino, p_sources)] = v_there.ino AND v_there.ino <> p_ino AND v_there.ino <> ALL (aside)
               AND pgbox.lookup(p_base, v_there.dir, v_there.name) = v_there.ino THEN
                steps := steps || pgbox.merge_verb('mv', path, '/.merge-' || v_there.ino);
                aside := aside || v_there.ino;
                v_taken := NULL;
                IF starts_with(v_here, path || '/') THEN
                    v_here := '/.merge-' || v_there.ino || substr(v_here, length(path) + 1);
                END IF;
            END IF;
        END IF;
    END IF;

    IF p_status = 'R' AND v_wall IS NULL THEN
        IF v_here = path AND v_is IS NOT NULL OR v_is IS NULL AND v_taken = v_new THEN
            outcome := 'same';
            v_is := coalesce(v_is, v_taken);
        ELSIF v_is IS NULL THEN
            outcome := 'conflict';
            detail := 'deleted here, renamed there';
        ELSIF v_moved THEN
            outcome := 'conflict';
            detail := 'renamed on both sides';
        ELSIF v_taken IS NOT NULL THEN
            outcome := 'conflict';
            detail := 'renamed there to what exists here';
        END IF;
        IF v_is IS NOT NULL AND (outcome = 'merged' OR outcome = 'conflict' AND p_conflict = 'theirs')
           AND v_here <> path AND NOT starts_with(path, v_here || '/') THEN
            IF p_kind = c_dir THEN
                moved := moved || v_at.here || path;
            END IF;
            IF v_taken IS NOT NULL THEN
                IF starts_with(v_here, path || '/') THEN -- it lies below what is removed
                    steps := steps || pgbox.merge_verb('mv', v_here, '/.merge-' || p_ino);
                    v_here := '/.merge-' || p_ino;
                END IF;
                steps := steps || pgbox.merge_verb('rm -r', path);
            END IF;
            steps := steps || pgbox.merge_verb('mkdir', v_dir) || pgbox.merge_verb('mv', v_here, path);
            winner := 'theirs';
        ELSIF v_is IS NULL AND outcome = 'conflict' AND p_conflict = 'theirs' AND p_kind <> c_dir THEN
            steps := steps || pgbox.merge_verb('mkdir', v_dir) || pgbox.merge_verb('take', path, p_ino => p_ino);
            winner := 'theirs';
        END IF;
        -- It may have been changed as well.
        v_apply := v_was <> v_new AND outcome <> 'conflict';
    ELSIF v_apply THEN
        v_is := v_taken;
    END IF;

    v_is_dir := v_is IS NOT NULL AND (pgbox.walk(p_layers, v_place, 'nofollow', NULL)).kind = c_dir;
    IF v_apply AND (v_is = v_new OR p_status = 'A' AND p_kind = c_dir AND v_is_dir) THEN
        outcome := CASE WHEN p_status = 'R' THEN outcome ELSE 'same' END;
    ELSIF v_apply THEN
        IF v_is IS DISTINCT FROM (CASE WHEN p_status <> 'A' THEN v_was END) THEN
            outcome := 'conflict';
            detail := CASE WHEN p_status = 'A' THEN 'added on both sides' WHEN v_is IS NULL THEN 'deleted here, changed there' ELSE 'changed on both sides' END;
        -- A directory that became something else must hold nothing that only ours knows.
        ELSIF v_is_dir AND p_kind <> c_dir AND EXISTS (
            SELECT FROM pgbox.subtree(p_layers, (pgbox.walk(p_layers, v_place, 'nofollow', NULL)).ino, v_place, NULL) t WHERE t.depth > 0 AND t.kind <> c_dir) THEN
            outcome := 'conflict';
            detail := 'holds what the other side does not know';
        ELSIF p_status <> 'R' AND (pgbox.walk(p_layers, v_dir, 'nofollow', NULL)).kind IS DISTINCT FROM c_dir THEN
            outcome := 'conflict';
            detail := 'its directory was deleted here';
        ELSE
            outcome := 'merged';
        END IF;
        IF p_conflict IN ('lines', 'markers') AND detail IN ('added on both sides', 'changed on both sides') THEN
            v_files := pgbox.merge_files(p_layers, path, (pgbox.walk(p_layers, v_place, 'nofollow', NULL)).ino,
                                         p_base, CASE WHEN p_status = 'A' THEN 0 ELSE p_ino_from END, p_from, p_ino, p_conflict = 'markers');
            steps := steps || v_files.steps;
            IF v_files.places = 0 THEN
                outcome := 'merged';
                detail := 'line by line';
                winner := 'both';
                v_apply := false;
            ELSIF v_files.places > 0 THEN
                detail := format('%s, %s%s', detail, CASE v_files.places WHEN 1 THEN 'one place' ELSE v_files.places || ' places' END,
                                 CASE p_conflict WHEN 'markers' THEN ' marked' ELSE '' END);
                winner := CASE p_conflict WHEN 'markers' THEN 'both' ELSE '' END;
            END IF;
        END IF;
        IF v_apply AND (outcome = 'merged' OR outcome = 'conflict' AND p_conflict = 'theirs') THEN
            IF p_status <> 'R' AND (pgbox.walk(p_layers, v_dir, 'nofollow', NULL)).kind IS DISTINCT FROM c_dir THEN
                steps := steps || pgbox.merge_verb('mkdir', v_dir);
            END IF;
            -- Another name of a file that is here is a link to it here, too.
            IF p_status = 'A' AND v_is IS NULL AND p_kind = pgbox.kind('file') AND (pgbox.inode_of(p_from, p_ino)).nlink > 1 THEN
                v_link := CASE WHEN p_kin AND (pgbox.inode_of(p_base, p_ino)).ino IS NOT NULL
                               THEN (SELECT min(d.path) FROM pgbox.dir_paths(p_layers, ARRAY[p_ino]) d) ELSE linked->>p_ino::text END;
            END IF;
            IF v_link IS NOT NULL THEN
                steps := steps || pgbox.merge_verb('link', v_link, path);
            ELSE
                steps := steps || pgbox.merge_verb(CASE WHEN p_ino <> p_ino_from THEN 'take new' ELSE 'take' END, path, p_ino => p_ino);
                linked := linked || jsonb_build_object(p_ino, path);
            END IF;
            winner := 'theirs';
        END IF;
    END IF;

    IF outcome <> 'conflict' THEN
        winner := '';
    ELSIF winner = '' THEN
        winner := CASE WHEN c_strict THEN 'none' ELSE 'ours' END;
    END IF;
END
$$;

ALTER FUNCTION pgbox.merge_plan(uuid[], uuid[], uuid[], boolean, text, bigint[], text, text, smallint, bigint, text, bigint, text[], bigint[], jsonb) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION pgbox.merge_plan(uuid[], uuid[], uuid[], boolean, text, bigint[], text, text, smallint, bigint, text, bigint, text[], bigint[], jsonb) IS
    'Plans one change of pgbox.compare() for the sandbox in scope: its outcome, as fs.merge() says it, and the steps that pgbox.merge_apply() is to do. moved are the directories renamed so far: from and to by turns. aside are files that are moved out of the way and wait for their own rename. linked says where files that were taken are now, by their number on the other side. p_sources are the numbers of everything that is renamed, in order, so that one is found by halving.';
