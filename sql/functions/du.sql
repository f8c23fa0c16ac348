CREATE FUNCTION fs.du(p_path text DEFAULT '/') RETURNS SETOF fs.disk_usage
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET jit = off
    SET enable_seqscan = off
    SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    v_sandbox pgbox.sandbox := pgbox.enter_read();
    v         record;
BEGIN
    v := pgbox.walk(v_sandbox.layers, p_path, 'nofollow', 'du');
    IF pgbox.is_much(v_sandbox.layers, v.ino) THEN
        RETURN QUERY SELECT v.path, u.inodes, u.bytes, u.stored FROM pgbox.whole_usage(v_sandbox.layers, v.ino) u;
        RETURN;
    END IF;
    RETURN QUERY
    WITH t AS MATERIALIZED (
        -- a file with several names counts once
        SELECT DISTINCT s.ino, s.kind, s.size FROM pgbox.subtree(v_sandbox.layers, v.ino, v.path, NULL) s
    )
    SELECT v.path, (SELECT count(*) FROM t), (SELECT coalesce(sum(t.size), 0)::bigint FROM t WHERE t.kind = pgbox.kind('file')),
           (SELECT coalesce(sum(b.size), 0)::bigint
              FROM t
             CROSS JOIN LATERAL (
                   SELECT DISTINCT ON (c.idx) c.sha256
                     FROM pgbox.chunk c
                    WHERE c.layer_id = ANY (v_sandbox.layers) AND c.ino = t.ino
                    ORDER BY c.idx, array_position(v_sandbox.layers, c.layer_id)) e
              JOIN pgbox.blob b ON b.sha256 = e.sha256
             WHERE t.kind = pgbox.kind('file'));
END
$$;

COMMENT ON FUNCTION fs.du(text) IS
    'Sums up what is at and below a path: one row. Each inode counts once.';
