CREATE FUNCTION pgbox.record(
    p_sandbox  pgbox.sandbox,
    p_op       text[],
    p_path     text[],
    p_path_to  text[],
    p_ino      bigint[],
    p_bytes    bigint DEFAULT 0,
    p_inodes   bigint DEFAULT 0,
    p_next_ino bigint DEFAULT NULL
) RETURNS void
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_version bigint := pgbox.bump(p_sandbox, p_bytes, p_inodes, p_next_ino);
BEGIN
    INSERT INTO pgbox.change (sandbox_id, version, seq, op, path, path_to, ino)
    SELECT p_sandbox.id, v_version, c.n - 1, c.op, c.path, c.path_to, c.ino
      FROM unnest(p_op, p_path, p_path_to, p_ino) WITH ORDINALITY AS c (op, path, path_to, ino, n);
END
$$;

COMMENT ON FUNCTION pgbox.record(pgbox.sandbox, text[], text[], text[], bigint[], bigint, bigint, bigint) IS
    'Ends a path verb that changed something: one bump of the version with the change of usage, and the journal rows.';
