CREATE FUNCTION fs.fsck_all(p_every interval DEFAULT NULL) RETURNS SETOF fs.fault
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_scope text := current_setting('app.sandbox_id', true);
    -- Whose things are broken is for auditors; who only serves learns that somebody should look. It goes by who logged in: the current role is the owner's here,
    -- and a session may take any role of its login's.
    v_told  boolean := pg_has_role(session_user, 'pgbox_auditor', 'MEMBER');
    v_id    uuid;
BEGIN
    PERFORM pgbox.need(p_every IS NULL OR p_every BETWEEN interval '-1000 years' AND interval '1000 years', 'fsck_all', 'p_every');
    IF p_every IS NOT NULL THEN
        -- The transaction's lock is the leader's, behind a pooler too. Not the row's, as fs.housekeep() shall go on meanwhile.
        IF NOT pg_try_advisory_xact_lock(hashtextextended('pgbox.fsck_all', 0))
           OR EXISTS (SELECT FROM pgbox.housekeeping h WHERE h.checked_at > clock_timestamp() - p_every) THEN
            RETURN;
        END IF;
    END IF;
    FOR v_id IN
        SELECT s.id FROM pgbox.sandbox s
         WHERE s.deleted_at IS NULL AND (s.expires_at IS NULL OR s.expires_at > clock_timestamp())
         ORDER BY s.id
    LOOP
        PERFORM set_config('app.sandbox_id', v_id::text, true);
        BEGIN
            RETURN QUERY SELECT v.* FROM fs.fsck() f, pgbox.veil(f, v_told) v;
        EXCEPTION WHEN SQLSTATE 'VF003' THEN
            NULL; -- dropped meanwhile
        END;
    END LOOP;
    PERFORM set_config('app.sandbox_id', coalesce(v_scope, ''), true);
    -- What snapshots and images stand on is there, and does not change any more.
    RETURN QUERY
    SELECT v.*
      FROM (SELECT n.sandbox_id, 'snapshot ' || n.name AS what, n.layers FROM pgbox.snapshot n
            UNION ALL
            SELECT NULL, 'image ' || i.tenant || '/' || i.name || ':' || i.tag, i.layers FROM pgbox.image i) c
     CROSS JOIN unnest(c.layers) AS u (id)
      LEFT JOIN pgbox.layer l ON l.id = u.id
     CROSS JOIN pgbox.veil(ROW (c.sandbox_id, CASE WHEN l.id IS NULL THEN 'missing_layer' ELSE 'unsealed_layer' END, NULL, c.what || ': ' || u.id,
                                NULL, NULL, NULL, NULL)::fs.fault, v_told) v
     WHERE l.id IS NULL OR l.sealed_at IS NULL;
    RETURN QUERY
    SELECT v.*
      FROM pgbox.snapshot n
      JOIN pgbox.sandbox s ON s.id = n.sandbox_id
     CROSS JOIN pgbox.veil(ROW (n.sandbox_id, 'snapshot_version', NULL, format('%s: versions %s to %s, sandbox %s', n.name, n.tree_version, n.version, s.version),
                                NULL, NULL, NULL, NULL)::fs.fault, v_told) v
     WHERE n.tree_version > n.version OR n.version > s.version OR s.tree_version > s.version;
    IF p_every IS NOT NULL THEN
        UPDATE pgbox.housekeeping h SET checked_at = clock_timestamp();
    END IF;
END
$$;

ALTER FUNCTION fs.fsck_all(interval) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION fs.fsck_all(interval) IS
    'Is fs.fsck() for every living sandbox, and checks the layers of all snapshots and images. A login that is not a member of pgbox_auditor learns which invariants are broken, but not where. With p_every it returns nothing while another check runs, or when the last one was within that time.';
