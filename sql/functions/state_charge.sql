CREATE FUNCTION pgbox.state_charge(p_sha256 bytea) RETURNS bigint
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT coalesce((SELECT t.size::bigint FROM pgbox.shell_state t WHERE t.sha256 = p_sha256 AND t.size > 4096), 0);
END;

COMMENT ON FUNCTION pgbox.state_charge(bytea) IS
    'What a shell state counts in used_bytes of its sandbox: its size, when that is more than 4096 bytes.';
