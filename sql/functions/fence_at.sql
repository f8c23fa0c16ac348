CREATE FUNCTION fs.fence_at(p_sandbox uuid, p_at text) RETURNS SETOF fs.fence
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_fence   fs.fence;
    v_sandbox pgbox.sandbox;
    v_state   pgbox.snapshot;
BEGIN
    SELECT f.* INTO v_fence FROM fs.fence f WHERE f.id = p_sandbox;
    IF v_fence.id IS NULL THEN
        PERFORM pgbox.raise_errno('ESRCH', 'fence_at', p_sandbox::text);
    END IF;
    SELECT s.* INTO v_sandbox FROM pgbox.sandbox s WHERE s.id = p_sandbox;
    v_state := pgbox.state_at(v_sandbox, p_at);
    IF v_state.id IS NOT NULL THEN
        v_fence.version := v_state.version;
        v_fence.layers := '00000000-0000-0000-0000-000000000000'::uuid || v_state.layers;
        v_fence.next_ino := v_state.next_ino;
        v_fence.used_bytes := v_state.used_bytes;
        v_fence.used_inodes := v_state.used_inodes;
        v_fence.state_sha256 := v_state.state_sha256;
        v_fence.last_used_at := v_state.changed_at;
    END IF;
    RETURN NEXT v_fence;
END
$$;

ALTER FUNCTION fs.fence_at(uuid, text) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION fs.fence_at(uuid, text) IS
    'Is fs.fence() of an earlier state of a sandbox (p_at as in pgbox.state_at). Its layers begin with the nil id, because there is no top layer to write to. ENOENT when there is no such state.';
