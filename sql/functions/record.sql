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
    p_hash_before bytea[]  DEFAULT NULL
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
           CASE WHEN p_size_before IS NOT NULL THEN c.size_before WHEN c.ino < p_sandbox.next_ino THEN a.size END, a.size,
           CASE WHEN p_size_before IS NOT NULL THEN c.hash_before WHEN c.ino < p_sandbox.next_ino THEN a.hash END, a.hash
      FROM unnest(p_op, p_path, p_path_to, p_ino, p_size_before, p_hash_before) WITH ORDINALITY AS c (op, path, path_to, ino, size_before, hash_before, n)
      LEFT JOIN LATERAL (
           SELECT i.size, pgbox.file_hash(p_sandbox.layers, i.ino, i.size) AS hash
             FROM pgbox.inode_of(p_sandbox.layers, c.ino) i
            WHERE i.kind = 8) a ON true;
END
$$;

COMMENT ON FUNCTION pgbox.record(pgbox.sandbox, text[], text[], text[], bigint[], bigint, bigint, bigint, bigint[], bytea[]) IS
    'Ends a path verb that changed something: one bump of the version with the change of usage, and the journal rows. p_size_before and p_hash_before are for verbs that change content: what the regular files were, NULL for a new one; without them it stayed what it is.';
