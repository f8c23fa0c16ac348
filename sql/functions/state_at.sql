CREATE FUNCTION pgbox.state_at(p_sandbox pgbox.sandbox, p_at text) RETURNS pgbox.snapshot
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_state pgbox.snapshot;
    v_head  pgbox.snapshot;
    v_at    bigint;
BEGIN
    v_head.sandbox_id := p_sandbox.id;
    v_head.layers := p_sandbox.layers;
    v_head.next_ino := p_sandbox.next_ino;
    v_head.version := p_sandbox.version;
    v_head.used_bytes := p_sandbox.used_bytes;
    v_head.used_inodes := p_sandbox.used_inodes;
    v_head.state_sha256 := p_sandbox.state_sha256;
    v_head.tree_version := p_sandbox.tree_version;
    v_head.changed_at := coalesce(p_sandbox.tree_at, p_sandbox.last_used_at, p_sandbox.created_at);
    IF coalesce(p_at, '') IN ('', '@head') THEN
        RETURN v_head;
    END IF;

    SELECT n.* INTO v_state FROM pgbox.snapshot n WHERE n.sandbox_id = p_sandbox.id AND n.name = p_at;
    IF v_state.id IS NOT NULL THEN
        RETURN v_state;
    END IF;
    IF p_at = '@base' THEN
        v_head.layers := p_sandbox.layers[cardinality(p_sandbox.layers):];
        v_head.next_ino := pgbox.first_ino();
        v_head.version := 0;
        v_head.tree_version := 0;
        v_head.used_bytes := 0;
        v_head.used_inodes := 0;
        v_head.state_sha256 := NULL;
        v_head.changed_at := p_sandbox.created_at;
        v_head.id := p_sandbox.layers[cardinality(p_sandbox.layers)];
        RETURN v_head;
    ELSIF p_at ~ '^@?[0-9]{1,18}$' THEN
        v_at := ltrim(p_at, '@')::bigint;
        IF v_at BETWEEN v_head.tree_version AND v_head.version THEN
            RETURN v_head;
        END IF;
        SELECT n.* INTO v_state
          FROM pgbox.snapshot n
         WHERE n.sandbox_id = p_sandbox.id AND n.kind <> 'base' AND v_at BETWEEN n.tree_version AND n.version
         ORDER BY n.version DESC LIMIT 1;
    ELSIF p_at ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}' THEN
        PERFORM pgbox.need_type(p_at, 'timestamptz', 'open', p_at);
        IF v_head.changed_at <= p_at::timestamptz THEN
            RETURN v_head;
        END IF;
        SELECT n.* INTO v_state
          FROM pgbox.snapshot n
         WHERE n.sandbox_id = p_sandbox.id AND n.kind <> 'base' AND n.changed_at <= p_at::timestamptz
         ORDER BY n.changed_at DESC, n.version DESC LIMIT 1;
    ELSIF p_at ~ '^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$' THEN
        SELECT n.* INTO v_state FROM pgbox.snapshot n WHERE n.sandbox_id = p_sandbox.id AND n.id = p_at::uuid;
    END IF;
    IF v_state.id IS NULL THEN
        PERFORM pgbox.raise_errno('ENOENT', 'open', p_at);
    END IF;
    RETURN v_state;
END
$$;

COMMENT ON FUNCTION pgbox.state_at(pgbox.sandbox, text) IS
    'A state of a sandbox: now (NULL, empty or @head), what it started from (@base), a snapshot by name or id, a version (@57 or 57), or the newest kept state at a time. ENOENT when there is none, or it is no longer kept. id is NULL for the present state.';
