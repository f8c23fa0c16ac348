CREATE FUNCTION pgbox.record(
    p_sandbox     pgbox.sandbox,
    p_op          text[],
    p_path        text[],
    p_path_to     text[],
    p_ino         bigint[],
    p_bytes       bigint   DEFAULT 0,
    p_inodes      bigint   DEFAULT 0,
    p_next_ino    bigint   DEFAULT NULL,
    p_size_before bigint[] DEFAULT NULL,
    p_hash_before bytea[]  DEFAULT NULL,
    p_size_after  bigint[] DEFAULT NULL,
    p_hash_after  bytea[]  DEFAULT NULL
) RETURNS void
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_version bigint := pgbox.bump(p_sandbox, p_bytes, p_inodes, p_next_ino);
BEGIN
    IF NOT p_sandbox.journal THEN
        RETURN;
    END IF;
    INSERT INTO pgbox.change (sandbox_id, version, seq, db_role, op, path, path_to, ino, size_before, size_after, hash_before, hash_after)
    SELECT p_sandbox.id, v_version, c.n - 1, session_user, c.op, c.path, c.path_to, c.ino,
           CASE WHEN p_size_before IS NOT NULL THEN c.size_before WHEN c.ino < p_sandbox.next_ino THEN a.size END,
           CASE WHEN p_size_after IS NOT NULL THEN c.size_after ELSE a.size END,
           CASE WHEN p_size_before IS NOT NULL THEN c.hash_before WHEN c.ino < p_sandbox.next_ino THEN a.hash END,
           CASE WHEN p_size_after IS NOT NULL THEN c.hash_after ELSE a.hash END
      FROM unnest(p_op, p_path, p_path_to, p_ino, p_size_before, p_hash_before, p_size_after, p_hash_after) WITH ORDINALITY
        AS c (op, path, path_to, ino, size_before, hash_before, size_after, hash_after, n)
      LEFT JOIN LATERAL (
           -- as pgbox.inode_of and pgbox.file_hash say it: a call of each for every file takes longer than all the rest
           SELECT i.size, CASE WHEN i.size <= 67108864 THEN pgbox.content_hash(i.size, k.chunks) END AS hash
             FROM (SELECT n.kind, n.size FROM pgbox.inode n
                    WHERE n.layer_id = ANY (p_sandbox.layers) AND n.ino = c.ino AND p_size_after IS NULL
                    ORDER BY array_position(p_sandbox.layers, n.layer_id) LIMIT 1) i
             LEFT JOIN LATERAL (
                  SELECT string_agg(int4send(e.idx) || e.sha256, '' ORDER BY e.idx) AS chunks
                    FROM (SELECT DISTINCT ON (o.idx) o.idx, o.sha256
                            FROM pgbox.chunk o
                           WHERE o.layer_id = ANY (p_sandbox.layers) AND o.ino = c.ino
                           ORDER BY o.idx, array_position(p_sandbox.layers, o.layer_id)) e
                   WHERE e.sha256 IS NOT NULL) k ON i.size BETWEEN 1 AND 67108864
            WHERE i.kind = pgbox.kind('file')) a ON true;
END
$$;

COMMENT ON FUNCTION pgbox.record(pgbox.sandbox, text[], text[], text[], bigint[], bigint, bigint, bigint, bigint[], bytea[], bigint[], bytea[]) IS
    'Ends a verb that changed something: makes one version, with the change of usage, and writes the journal rows. Verbs that change content pass p_size_before and p_hash_before: what the regular files were, NULL for a new one. Without them the content was not changed. Verbs that know what they leave of many files pass p_size_after and p_hash_after; without them that is read.';
