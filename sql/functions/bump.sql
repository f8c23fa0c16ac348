CREATE FUNCTION pgbox.bump(
    p_sandbox     pgbox.sandbox,
    p_bytes       bigint,
    p_inodes      bigint,
    p_next_ino    bigint DEFAULT NULL
) RETURNS bigint
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_version bigint := coalesce(p_sandbox.open_version, p_sandbox.version + 1);
BEGIN
    -- Who is over a limit may still shrink, or change without growing.
    IF (p_bytes > 0 AND p_sandbox.used_bytes + p_bytes > p_sandbox.max_bytes)
       OR (p_inodes > 0 AND p_sandbox.used_inodes + p_inodes > p_sandbox.max_inodes) THEN
        PERFORM pgbox.raise_errno('EDQUOT', 'write', p_sandbox.id::text);
    END IF;
    UPDATE pgbox.sandbox s
       SET version      = v_version,
           tree_version = v_version,
           tree_at      = NULL,
           next_ino     = coalesce(p_next_ino, p_sandbox.next_ino),
           used_bytes   = p_sandbox.used_bytes + p_bytes,
           used_inodes  = p_sandbox.used_inodes + p_inodes,
           last_used_at = clock_timestamp()
     WHERE s.id = p_sandbox.id;
    RETURN v_version;
END
$$;

COMMENT ON FUNCTION pgbox.bump(pgbox.sandbox, bigint, bigint, bigint) IS
    'Makes the next version of the sandbox row that pgbox.enter(true) returned (one version for a verb of several operations), adds p_bytes and p_inodes to its usage (either may be negative), and enforces its limits: EDQUOT. Every change of a tree calls it once. Returns the new version.';
