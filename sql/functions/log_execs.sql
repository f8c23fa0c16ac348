CREATE FUNCTION fs.log_execs(p_execs jsonb) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_rows bigint;
BEGIN
    -- Whoever does not know whether a batch arrived sends it again.
    INSERT INTO pgbox.exec (id, sandbox_id, tenant, route, caller, script, cwd, read_only, exit_code, error, idempotency_key, started_at, duration_us,
                            stdout_bytes, stderr_bytes, stdout_head, stderr_head, version_before, version_after, committed)
    SELECT coalesce(e.id, gen_random_uuid()), s.id, coalesce(e.tenant, s.tenant), coalesce(e.route, ''), coalesce(e.caller, ''), coalesce(e.script, ''),
           coalesce(e.cwd, '/'), coalesce(e.read_only, false), e.exit_code, e.error, e.idempotency_key, coalesce(e.started_at, clock_timestamp()),
           coalesce(e.duration_us, 0), coalesce(e.stdout_bytes, 0), coalesce(e.stderr_bytes, 0), coalesce(e.stdout_head, ''), coalesce(e.stderr_head, ''),
           coalesce(e.version, s.version), coalesce(e.version, s.version), false
      FROM jsonb_to_recordset(p_execs)
        AS e (id uuid, sandbox_id uuid, tenant text, route text, caller text, script text, cwd text, read_only boolean, exit_code integer, error text,
              idempotency_key text, started_at timestamptz, duration_us bigint, stdout_bytes bigint, stderr_bytes bigint, stdout_head text,
              stderr_head text, version bigint)
      JOIN pgbox.sandbox s ON s.id = e.sandbox_id
    ON CONFLICT ON CONSTRAINT exec_pkey DO NOTHING;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    RETURN v_rows;
END
$$;

ALTER FUNCTION fs.log_execs(jsonb) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION fs.log_execs(jsonb) IS
    'Writes the audit rows of runs that committed nothing (read-only, failed, killed or without a change), of any sandboxes, and returns how many are new. An array of objects with the keys of fs.apply, sandbox_id, and version: the one the run saw.';
