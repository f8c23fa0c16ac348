CREATE FUNCTION fs.merge(
    p_sandbox  uuid,
    p_from     uuid,
    p_from_at  text DEFAULT NULL,
    p_base     text DEFAULT '@base',
    p_conflict text DEFAULT 'fail',
    p_exec     jsonb DEFAULT NULL
) RETURNS TABLE (path text, status text, outcome text, detail text)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off
    SET plan_cache_mode = force_generic_plan
    SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    v_ours      pgbox.sandbox;
    v_theirs    pgbox.sandbox;
    v_base      uuid[];
    v_from      uuid[];
    v_layers    uuid[];
    v_version   bigint;
    v_exec      uuid;
    v_kin       boolean;
    v_moved     text[] := '{}'; -- directories renamed so far, from and to by turns
    v_conflicts integer := 0;
    v_here      text;
    v_to        text;
    v_dir       text;
    v_ino       bigint;
    v_is        text;
    v_was       text;
    v_new       text;
    v_apply     boolean;
    v_marked    integer;
    c           record;
BEGIN
    IF p_conflict NOT IN ('fail', 'ours', 'theirs', 'markers') THEN
        PERFORM pgbox.raise_errno(22, 'merge', p_conflict);
    ELSIF p_sandbox = p_from THEN
        PERFORM pgbox.raise_errno(22, 'merge', p_from::text);
    END IF;
    -- Both stay as they are meanwhile; the order keeps two merges from waiting for each other.
    PERFORM FROM pgbox.sandbox s WHERE s.id IN (p_sandbox, p_from) ORDER BY s.id FOR NO KEY UPDATE;
    v_ours := pgbox.lock_sandbox(p_sandbox);
    SELECT s.* INTO v_theirs FROM pgbox.sandbox s JOIN fs.fence f ON f.id = s.id
     WHERE s.id = p_from AND s.tenant = v_ours.tenant AND s.owner = v_ours.owner;
    IF v_theirs.id IS NULL THEN
        PERFORM pgbox.raise_errno(2, 'merge', p_from::text);
    END IF;
    v_base := (pgbox.state_at(v_theirs, p_base)).layers;
    v_from := (pgbox.state_at(v_theirs, p_from_at)).layers;
    -- Ours went on from the same state: then a file is known by its number here, too, wherever it has been moved.
    v_kin := v_base[1] = ANY (v_ours.layers) AND cardinality(v_base) > 1
        OR EXISTS (SELECT FROM pgbox.snapshot n WHERE n.sandbox_id = p_sandbox AND n.layers @> v_base[1:1] AND cardinality(v_base) > 1);

    PERFORM set_config('app.sandbox_id', p_sandbox::text, true), set_config('app.at', '', true);
    v_version := v_ours.version;

    -- A block of its own, so that what was done can be taken back and the conflicts still be told.
    BEGIN
        -- One automatic snapshot and one version for all of it.
        v_ours := pgbox.point(v_ours, 'undo');
        v_layers := v_ours.layers;
        UPDATE pgbox.sandbox s SET open_version = v_version + 1 WHERE s.id = p_sandbox;
        FOR c IN
            SELECT d.*,
                   CASE WHEN d.status <> 'D' THEN 1
                        WHEN d.kind <> 4 THEN 0
                        -- an empty directory whose place a rename takes
                        WHEN count(*) OVER (PARTITION BY d.path) > 1 THEN 1
                        ELSE 2 END AS pass,
                   replace(d.path, '/', E'\x01') COLLATE "C" AS place
              FROM pgbox.compare(v_base, v_from, true) d
             ORDER BY pass, CASE WHEN d.status = 'D' AND d.kind = 4 THEN -length(d.path) END, place, d.status = 'R'
        LOOP
            v_here := coalesce(nullif(c.path_from, ''), c.path);
            v_was := (SELECT d.looks FROM pgbox.describe_inodes(v_base, ARRAY[c.ino_from]) d);
            v_new := CASE WHEN c.status <> 'D' THEN (SELECT d.looks FROM pgbox.describe_inodes(v_from, ARRAY[c.ino]) d) END;
            -- Where it is here: by its number if ours is of the same line, else by its path behind the renames so far.
            IF c.status = 'M' AND c.path_from <> '' THEN
                v_here := c.path;
            END IF;
            FOR i IN 1..cardinality(v_moved) / 2 LOOP
                IF starts_with(v_here, v_moved[2 * i - 1] || '/') THEN
                    v_here := v_moved[2 * i] || substr(v_here, length(v_moved[2 * i - 1]) + 1);
                END IF;
            END LOOP;
            IF v_kin AND c.ino_from > 1 THEN
                SELECT coalesce(max(d.path) FILTER (WHERE d.path = v_here), min(d.path)) INTO v_to
                  FROM pgbox.dir_paths(v_layers, ARRAY[c.ino_from]) d;
                v_here := coalesce(v_to, v_here);
            END IF;
            v_to := CASE WHEN c.status IN ('A', 'R') THEN c.path ELSE v_here END;
            IF c.status IN ('A', 'R') AND v_kin THEN
                -- Its directory may have been moved here.
                v_dir := regexp_replace(c.path, '/[^/]*$', '');
                v_ino := (pgbox.walk(v_from, CASE v_dir WHEN '' THEN '/' ELSE v_dir END, 'nofollow', NULL)).ino;
                IF pgbox.inode_of(v_base, v_ino) IS NOT NULL THEN
                    v_dir := coalesce((SELECT d.path FROM pgbox.dir_paths(v_layers, ARRAY[v_ino]) d), v_dir);
                    v_to := v_dir || substring(c.path FROM '/[^/]*$');
                END IF;
            END IF;
            v_is := pgbox.looks_at(v_layers, v_here);
            path := v_to;
            status := c.status;
            outcome := 'merged';
            detail := '';
            v_apply := true;

            IF c.status = 'D' THEN
                IF v_is IS NULL THEN
                    outcome := 'same';
                ELSIF c.kind = 4 AND NOT pgbox.is_empty(v_layers, (pgbox.walk(v_layers, v_here, 'nofollow', NULL)).ino) THEN
                    outcome := 'kept';
                    detail := 'holds what the other side does not know';
                ELSIF v_is <> v_was THEN
                    outcome := 'conflict';
                    detail := 'changed here, deleted there';
                END IF;
                IF outcome = 'merged' OR outcome = 'conflict' AND p_conflict = 'theirs' THEN
                    PERFORM fs.rm(v_here, c.kind <> 4);
                END IF;
            ELSE
                IF c.status = 'R' THEN
                    IF v_here = v_to AND v_is IS NOT NULL THEN
                        outcome := 'same';
                    ELSIF v_is IS NULL AND pgbox.looks_at(v_layers, v_to) = v_new THEN
                        outcome := 'same';
                    ELSIF v_is IS NULL THEN
                        outcome := 'conflict';
                        detail := 'deleted here, renamed there';
                    ELSIF v_kin AND v_here <> c.path_from AND pgbox.looks_at(v_layers, c.path_from) IS NULL
                          AND regexp_replace(v_here, '^.*/', '') <> regexp_replace(c.path_from, '^.*/', '') THEN
                        outcome := 'conflict';
                        detail := 'renamed on both sides';
                    ELSIF pgbox.looks_at(v_layers, v_to) IS NOT NULL THEN
                        outcome := 'conflict';
                        detail := 'renamed there to what exists here';
                    END IF;
                    IF v_is IS NOT NULL AND v_here <> v_to AND (outcome = 'merged' OR outcome = 'conflict' AND p_conflict = 'theirs')
                       AND NOT starts_with(v_to, v_here || '/') THEN
                        IF pgbox.looks_at(v_layers, v_to) IS NOT NULL THEN
                            PERFORM fs.rm(v_to, true);
                        END IF;
                        PERFORM fs.mkdir(coalesce(nullif(regexp_replace(v_to, '/[^/]*$', ''), ''), '/'), p_parents => true);
                        PERFORM fs.mv(v_here, v_to);
                        IF c.kind = 4 THEN
                            v_moved := v_moved || v_here || v_to;
                        END IF;
                        v_is := pgbox.looks_at(v_layers, v_to);
                    END IF;
                    -- It may have been changed as well.
                    v_apply := v_was <> v_new AND outcome <> 'conflict';
                ELSE
                    v_is := pgbox.looks_at(v_layers, v_to);
                END IF;
                IF v_apply AND outcome <> 'conflict' THEN
                    IF v_is = v_new OR c.status = 'A' AND c.kind = 4 AND starts_with(v_is, '4|') THEN
                        outcome := CASE WHEN c.status = 'R' THEN outcome ELSE 'same' END;
                        v_apply := false;
                    ELSIF v_is IS NOT DISTINCT FROM (CASE WHEN c.status <> 'A' THEN v_was END) THEN
                        NULL;
                    ELSE
                        outcome := 'conflict';
                        detail := CASE WHEN c.status = 'A' THEN 'added on both sides' WHEN v_is IS NULL THEN 'deleted here, changed there'
                                       ELSE 'changed on both sides' END;
                    END IF;
                    -- A directory that became something else must hold nothing that only ours knows.
                    IF outcome = 'merged' AND v_apply AND starts_with(v_is, '4|') AND c.kind <> 4 AND EXISTS (
                        SELECT FROM pgbox.subtree(v_layers, (pgbox.walk(v_layers, v_to, 'nofollow', NULL)).ino, v_to, NULL) t
                         WHERE t.depth > 0 AND t.kind <> 4) THEN
                        outcome := 'conflict';
                        detail := 'holds what the other side does not know';
                    ELSIF outcome = 'merged' AND v_apply
                          AND (pgbox.walk(v_layers, regexp_replace(v_to, '/[^/]*$', '/'), 'follow', NULL)).kind IS DISTINCT FROM 4 THEN
                        outcome := 'conflict';
                        detail := 'its directory was deleted here';
                    END IF;
                END IF;
                IF v_apply AND outcome = 'conflict' AND p_conflict = 'markers' AND detail IN ('added on both sides', 'changed on both sides') THEN
                    v_marked := pgbox.merge_files(v_layers, v_to, v_base, CASE WHEN c.status = 'A' THEN 0 ELSE c.ino_from END, v_from, c.ino);
                    IF v_marked = 0 THEN
                        outcome := 'merged';
                        detail := 'line by line';
                        v_apply := false;
                    ELSIF v_marked > 0 THEN
                        detail := format('%s, %s marked', detail, CASE v_marked WHEN 1 THEN 'one place' ELSE v_marked || ' places' END);
                    END IF;
                END IF;
                IF v_apply AND (outcome = 'merged' OR outcome = 'conflict' AND p_conflict = 'theirs') THEN
                    v_dir := coalesce(nullif(regexp_replace(v_to, '/[^/]*$', ''), ''), '/');
                    IF (pgbox.walk(v_layers, v_dir, 'follow', NULL)).kind IS DISTINCT FROM 4 THEN
                        PERFORM fs.mkdir(v_dir, p_parents => true);
                    END IF;
                    PERFORM pgbox.take(v_layers, v_to, v_from, c.ino);
                END IF;
            END IF;
            IF outcome = 'conflict' THEN
                v_conflicts := v_conflicts + 1;
            END IF;
            RETURN NEXT;
        END LOOP;
        UPDATE pgbox.sandbox s SET open_version = NULL WHERE s.id = p_sandbox RETURNING s.* INTO v_ours;
        IF v_conflicts > 0 AND p_conflict = 'fail' OR v_ours.version = v_version THEN
            RAISE EXCEPTION USING ERRCODE = 'P0001', MESSAGE = 'nothing is to be done';
        END IF;
        IF p_exec IS NOT NULL THEN
            v_exec := pgbox.add_exec(p_sandbox, p_exec, v_version, v_ours.version, p_from);
        END IF;
        PERFORM pgbox.record_step(v_ours, v_layers[2:], v_exec);
    EXCEPTION WHEN raise_exception THEN
        NULL;
    END;
END
$$;

ALTER FUNCTION fs.merge(uuid, uuid, text, text, text, jsonb) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION fs.merge(uuid, uuid, text, text, text, jsonb) IS
    'Does in a sandbox what happened in another of the same owner between p_base (by default what that one was forked from) and p_from_at (by default now), all as one version that fs.undo() takes back; the journal tells what changed by it. Returns every change with its outcome: merged, same (was so already), kept (a directory with something of ours in it), conflict. With p_conflict fail nothing is done when there is a conflict; ours leaves what is here in those places, theirs puts what is there, markers merges texts line by line and puts both sides of what both changed between <<<<<<< and >>>>>>> (other conflicts stay as with ours). p_exec is for the audit row, as in fs.apply; NULL: none.';
