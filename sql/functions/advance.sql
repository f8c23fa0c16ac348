CREATE FUNCTION pgbox.advance(
    p_sandbox     uuid,
    p_version     bigint,
    p_changed_at  timestamptz,
    p_next_ino    bigint,
    p_used_bytes  bigint,
    p_used_inodes bigint,
    p_shell_state jsonb,
    p_tree        boolean,
    OUT layers       uuid[],
    OUT changed_at   timestamptz,
    OUT used_bytes   bigint,
    OUT state_sha256 bytea
)
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_sandbox pgbox.sandbox;
    v_state   bytea;
    v_charge  bigint;
BEGIN
    PERFORM set_config('app.sandbox_id', p_sandbox::text, true);
    IF p_shell_state IS NOT NULL THEN
        v_state := pgbox.put_state(p_shell_state);
        v_charge := pgbox.state_charge(v_state);
    END IF;
    FOR v_try IN 1..2 LOOP
        -- Lock, compare and set in one statement: whoever waits here for another writer compares with what that one left.
        UPDATE pgbox.sandbox s
           SET version      = s.version + 1,
               next_ino     = p_next_ino,
               -- what the new state of the shell counts, in the place of the old one
               used_bytes   = p_used_bytes + CASE WHEN v_charge IS NULL THEN 0 ELSE v_charge - pgbox.state_charge(s.state_sha256) END,
               used_inodes  = p_used_inodes,
               state_sha256 = CASE WHEN v_charge IS NULL THEN s.state_sha256 ELSE v_state END,
               last_used_at = clock_timestamp(),
               tree_version = CASE WHEN p_tree THEN s.version + 1 ELSE s.tree_version END,
               tree_at      = CASE WHEN p_tree THEN NULL ELSE coalesce(s.tree_at, s.last_used_at) END,
               -- What can be redone stays so when no file changes.
               undone_version = CASE WHEN NOT p_tree AND s.undone_version = s.version THEN s.version + 1 ELSE s.undone_version END
         WHERE s.id = p_sandbox AND s.version = p_version AND (p_changed_at IS NULL OR s.last_used_at = p_changed_at) AND s.next_ino <= p_next_ino
           AND s.deleted_at IS NULL AND (s.expires_at IS NULL OR s.expires_at > clock_timestamp())
           AND (s.max_bytes IS NULL OR p_used_bytes + CASE WHEN v_charge IS NULL THEN 0 ELSE v_charge - pgbox.state_charge(s.state_sha256) END
                                       <= greatest(s.max_bytes, s.used_bytes))
           AND (s.max_inodes IS NULL OR p_used_inodes <= greatest(s.max_inodes, s.used_inodes))
           AND NOT coalesce(p_tree AND s.tree_version > s.history_version
                            AND (s.version - s.history_version >= s.history_commits
                                 OR s.history_at + s.history_seconds * interval '1 second' <= clock_timestamp()), false)
        RETURNING s.layers, s.last_used_at, s.used_bytes, s.state_sha256 INTO layers, changed_at, used_bytes, state_sha256;
        EXIT WHEN layers IS NOT NULL OR v_try = 2;
        -- Refused, or the automatic snapshot is due, which this takes.
        v_sandbox := pgbox.enter(true);
    END LOOP;
    IF layers IS NULL THEN
        PERFORM pgbox.raise_errno(CASE
            WHEN v_sandbox.version <> p_version OR p_changed_at IS NOT NULL AND v_sandbox.last_used_at IS DISTINCT FROM p_changed_at THEN 'ESTALE'
            WHEN v_sandbox.next_ino > p_next_ino THEN 'EINVAL'
            ELSE 'EDQUOT' END, 'apply', p_sandbox::text);
    END IF;
    PERFORM set_config('app.layers', layers::text, true);
END
$$;

COMMENT ON FUNCTION pgbox.advance(uuid, bigint, timestamptz, bigint, bigint, bigint, jsonb, boolean) IS
    'Is pgbox.enter(true) and pgbox.bump() in one step, for a writer that knows the version it started from and the usage it leaves. ESTALE when the sandbox is no longer at p_version, or reached it at another time than p_changed_at (NULL: not known): after a failover that lost the last commits the same number may name another state. EDQUOT when the sandbox would grow past a limit. p_shell_state is stored too, and counts (NULL: it stays). p_tree: the tree changes. A change of the shell state alone is not a step of fs.undo(): it takes no automatic snapshot and keeps what can be redone. Returns the layers, the time of the new version, the usage and the hash of the state.';
