CREATE FUNCTION fs.blame(p_sandbox uuid, p_path text) RETURNS SETOF fs.last_write
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off
    SET jit = off
AS $$
DECLARE
    v_sandbox pgbox.sandbox := pgbox.enter_sandbox_read(p_sandbox);
    v         record := pgbox.walk(v_sandbox.layers, p_path, 'follow', 'blame');
BEGIN
    RETURN QUERY
    WITH file AS MATERIALIZED (
        SELECT s.path, s.ino, s.size FROM pgbox.subtree(v_sandbox.layers, v.ino, v.path, NULL) s WHERE s.kind = pgbox.kind('file') AND s.ino >= pgbox.first_ino()
    ), written AS MATERIALIZED (
        SELECT DISTINCT ON (c.ino) c.ino, c.version, c.at, c.exec_id, c.db_role, c.hash_after
          FROM pgbox.change c
         WHERE c.sandbox_id = p_sandbox AND c.op IN ('create', 'write', 'truncate', 'copy')
         ORDER BY c.ino, c.version DESC, c.seq DESC
    )
    SELECT f.path, f.ino, f.size, w.version, w.at, e.id, coalesce(e.caller, w.db_role), e.route, e.script, e.agent
      FROM file f
      LEFT JOIN written w ON w.ino = f.ino
      LEFT JOIN LATERAL pgbox.writer_of(w.exec_id, w.hash_after) e ON w.exec_id IS NOT NULL
     ORDER BY f.path COLLATE "C";
END
$$;

COMMENT ON FUNCTION fs.blame(uuid, text) IS
    'Who last wrote each regular file at or below a path, ordered by path. version is NULL when the last write is not in the journal: it came with a fork, or is older than the journal. What a merge brought is attributed to the run that wrote it in the other sandbox. For what was done in SQL, exec_id is NULL and caller is the database role.';
