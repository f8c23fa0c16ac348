CREATE FUNCTION fs.fork(
    p_sandbox uuid,
    p_ids     uuid[] DEFAULT '{}',
    p_name    text   DEFAULT NULL,
    p_owner   text   DEFAULT NULL,
    p_at      text   DEFAULT NULL
) RETURNS SETOF fs.sandbox
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_from  pgbox.sandbox := pgbox.lock_sandbox(p_sandbox);
    v_before bigint := v_from.version;
    v_state pgbox.snapshot;
    v_ids   uuid[] := CASE WHEN cardinality(p_ids) > 0 THEN p_ids ELSE ARRAY[gen_random_uuid()] END;
    v_tops  uuid[];
    v_count bigint;
BEGIN
    PERFORM pgbox.need(NOT EXISTS (SELECT FROM unnest(v_ids) AS u (id) WHERE u.id IS NULL), 'fork', 'p_ids'),
            pgbox.need(length(coalesce(p_name, v_from.name)) <= CASE WHEN cardinality(v_ids) > 1 THEN 254 - length(cardinality(v_ids)::text) ELSE 255 END, 'fork', 'p_name');
    IF cardinality(v_ids) > 100 THEN
        PERFORM pgbox.raise_errno('EINVAL', 'fork', cardinality(v_ids)::text);
    END IF;
    v_state := pgbox.state_at(v_from, p_at);
    IF v_state.id IS NULL THEN
        v_from := pgbox.seal(v_from);
        v_state.layers := v_from.layers[2:];
    END IF;
    -- A copy is over a limit as far as the original is, and no further.
    IF v_state.used_bytes > v_from.used_bytes AND v_state.used_bytes > v_from.max_bytes
       OR v_state.used_inodes > v_from.used_inodes AND v_state.used_inodes > v_from.max_inodes THEN
        PERFORM pgbox.raise_errno('EDQUOT', 'fork', p_sandbox::text);
    END IF;
    v_tops := ARRAY(SELECT pgbox.new_layer_id() FROM generate_series(1, cardinality(v_ids)));
    INSERT INTO pgbox.layer (id) SELECT unnest(v_tops);
    INSERT INTO pgbox.sandbox (id, tenant, owner, name, layers, next_ino, env, config, labels, max_bytes, max_inodes,
                               used_bytes, used_inodes, state_sha256, expires_at, history_commits, history_seconds, history_keep,
                               max_snapshots, journal)
    SELECT u.id, v_from.tenant, coalesce(p_owner, v_from.owner),
           coalesce(p_name, v_from.name) || CASE WHEN cardinality(v_ids) > 1 THEN '-' || u.n ELSE '' END, u.top || v_state.layers,
           v_from.next_ino, v_from.env, v_from.config, v_from.labels, v_from.max_bytes, v_from.max_inodes,
           v_state.used_bytes, v_state.used_inodes, v_state.state_sha256, v_from.expires_at,
           v_from.history_commits, v_from.history_seconds, v_from.history_keep, v_from.max_snapshots, v_from.journal
      FROM unnest(v_ids, v_tops) WITH ORDINALITY AS u (id, top, n)
    ON CONFLICT ON CONSTRAINT sandbox_pkey DO NOTHING;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    IF v_count < cardinality(v_ids) THEN
        PERFORM pgbox.raise_errno('EEXIST', 'fork', v_ids::text);
    END IF;
    -- Where the two sides part: what a diff and a merge start from.
    INSERT INTO pgbox.snapshot (sandbox_id, name, kind, layers, next_ino, version, used_bytes, used_inodes, state_sha256)
    SELECT u.id, '@base', 'base', v_state.layers, v_from.next_ino, 0, v_state.used_bytes, v_state.used_inodes, v_state.state_sha256
      FROM unnest(v_ids) AS u (id);
    PERFORM pgbox.log_verb(p_sandbox, v_from.tenant, 'fork', v_before, v_from.version);
    PERFORM pgbox.log_verb(u.id, v_from.tenant, 'fork of ' || p_sandbox, 0, 0) FROM unnest(v_ids) AS u (id);
    RETURN QUERY
    SELECT v.* FROM unnest(v_ids) WITH ORDINALITY AS u (id, n) JOIN fs.sandbox v ON v.id = u.id ORDER BY u.n;
END
$$;

ALTER FUNCTION fs.fork(uuid, uuid[], text, text, text) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION fs.fork(uuid, uuid[], text, text, text) IS
    'Makes new sandboxes, 100 at most, with the tree, shell state and settings of another as it is or was (p_at as in pgbox.state_at), in constant time. Without p_ids one sandbox is made, with a random id. p_name and p_owner are those of the original unless given; several forks get -1, -2, … after the name.
Of the columns of pgbox.sandbox: id, owner and name are arguments; tenant, env, config, labels, max_bytes, max_inodes, max_snapshots, journal, history_commits, history_seconds, history_keep are settings, so the copy has them; expires_at too, so that the copy of what is temporary is temporary. layers, next_ino, used_bytes, used_inodes, state_sha256 are the state that is copied. version, tree_version, tree_at, created_at, last_used_at, history_version, history_at, undone_version, undone_origin, pruned_version, open_version and deleted_at tell the life of one sandbox and begin anew. EDQUOT when that state is larger than the limits and than the original.';
