CREATE FUNCTION fs.merge(
    p_sandbox  uuid,
    p_from     uuid,
    p_from_at  text DEFAULT NULL,
    p_base     text DEFAULT '@base',
    p_conflict text DEFAULT 'lines',
    p_exec     jsonb DEFAULT NULL
) RETURNS TABLE (path text, status text, outcome text, detail text, winner text)
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
    v_sources   bigint[];
    v_plan      record;
    v_dirs      text[] := '{}'; -- that were made, whose times come last
    v_times     bigint[] := '{}';
    v_conflicts integer := 0;
    c           record;
BEGIN
    PERFORM pgbox.need_exec(p_exec, 'merge');
    IF p_conflict NOT IN ('lines', 'fail', 'ours', 'theirs', 'markers') THEN
        PERFORM pgbox.raise_errno('EINVAL', 'merge', p_conflict);
    ELSIF p_sandbox = p_from THEN
        PERFORM pgbox.raise_errno('EINVAL', 'merge', p_from::text);
    END IF;
    -- Both stay as they are meanwhile; the order keeps two merges from waiting for each other.
    PERFORM FROM pgbox.sandbox s WHERE s.id IN (p_sandbox, p_from) ORDER BY s.id FOR NO KEY UPDATE;
    v_ours := pgbox.lock_sandbox(p_sandbox);
    SELECT s.* INTO v_theirs FROM pgbox.sandbox s JOIN fs.fence f ON f.id = s.id
     WHERE s.id = p_from AND s.tenant = v_ours.tenant AND s.owner = v_ours.owner;
    IF v_theirs.id IS NULL THEN
        PERFORM pgbox.raise_errno('ENOENT', 'merge', p_from::text);
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
        v_sources := ARRAY(SELECT d.ino FROM pgbox.compare(v_base, v_from, true) d WHERE d.status = 'R' ORDER BY d.ino);
        SELECT '{}'::text[] AS moved, '{}'::bigint[] AS aside, '{}'::jsonb AS linked INTO v_plan;
        FOR c IN
            SELECT d.*,
                   CASE WHEN d.status <> 'D' THEN 1
                        WHEN d.kind <> pgbox.kind('dir') THEN 0
                        -- an empty directory whose place a rename takes
                        WHEN count(*) OVER (PARTITION BY d.path) > 1 THEN 1
                        ELSE 2 END AS pass,
                   replace(d.path, '/', E'\x01') COLLATE "C" AS place
              FROM pgbox.compare(v_base, v_from, true) d
             ORDER BY pass, CASE WHEN d.status = 'D' AND d.kind = pgbox.kind('dir') THEN -length(d.path) END, place, d.status = 'R'
        LOOP
            v_plan := pgbox.merge_plan(v_layers, v_base, v_from, v_kin, p_conflict, v_sources, c.status, c.path, c.kind, c.ino, c.path_from, c.ino_from,
                                       v_plan.moved, v_plan.aside, v_plan.linked);
            PERFORM pgbox.merge_apply(v_layers, v_from, v_plan.steps);
            path := v_plan.path;
            status := c.status;
            outcome := v_plan.outcome;
            detail := v_plan.detail;
            winner := v_plan.winner;
            IF status = 'A' AND c.kind = pgbox.kind('dir') AND outcome = 'merged' THEN
                v_dirs := v_dirs || path;
                v_times := v_times || (pgbox.inode_of(v_from, c.ino)).mtime;
            END IF;
            IF outcome = 'conflict' THEN
                v_conflicts := v_conflicts + 1;
            END IF;
            RETURN NEXT;
        END LOOP;
        FOR i IN 1..cardinality(v_dirs) LOOP
            PERFORM fs.utimes(v_dirs[i], v_times[i], false);
        END LOOP;
        UPDATE pgbox.sandbox s SET open_version = NULL WHERE s.id = p_sandbox RETURNING s.* INTO v_ours;
        IF v_conflicts > 0 AND p_conflict IN ('lines', 'fail') OR v_ours.version = v_version THEN
            RAISE EXCEPTION USING ERRCODE = 'VFMRG', MESSAGE = 'the merge is taken back';
        END IF;
        v_exec := pgbox.add_exec(p_sandbox, pgbox.exec_or_role(p_exec, v_ours.tenant, 'merge ' || p_from), v_version, v_ours.version, p_from);
        PERFORM pgbox.record_step(v_ours, v_layers[2:], v_exec);
    -- A SQLSTATE of its own: what anybody else raises, a DBA's trigger say, ends the merge with that error.
    EXCEPTION WHEN SQLSTATE 'VFMRG' THEN
        NULL;
    END;
END
$$;

ALTER FUNCTION fs.merge(uuid, uuid, text, text, text, jsonb) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION fs.merge(uuid, uuid, text, text, text, jsonb) IS
    'Does in p_sandbox what changed in p_from, another sandbox of the same owner, between p_base (by default what p_from was forked from) and p_from_at (by default now). All of it is one version, which fs.undo() takes back, and the journal says what changed. Returns every change with its outcome: merged; same, when it was already so; kept, a directory that holds something of ours; or conflict. For a conflict, detail says what it is and winner what is there now: ours, theirs, both (marked), or none (nothing was done). p_conflict decides about conflicts. lines (the default) merges texts that both sides changed line by line; fail does not; with either, nothing at all is done when there is a conflict. ours keeps what is here. theirs takes what is there. markers puts both sides of the lines that both changed between <<<<<<< and >>>>>>>, and is as ours for other conflicts. Nothing is ever written through a symlink. New files in a directory that was moved here follow it; hard links, devices and times are kept. p_exec is the audit row, as in fs.apply; NULL: only the database role is known.';
