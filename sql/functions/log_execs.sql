CREATE FUNCTION fs.log_execs(p_execs jsonb) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_rows bigint;
BEGIN
    IF p_execs IS NULL OR jsonb_typeof(p_execs) <> 'array' THEN
        PERFORM pgbox.raise_errno('EINVAL', 'log_execs', jsonb_typeof(p_execs));
    END IF;
    PERFORM pgbox.need_exec(e.value, 'log_execs') FROM jsonb_array_elements(p_execs) AS e (value);
    -- Whoever does not know whether a batch arrived sends it again.
    INSERT INTO pgbox.exec (id, sandbox_id, tenant, route, caller, agent, script, cwd, read_only, exit_code, error, idempotency_key, started_at, duration_us,
                            stdout_bytes, stderr_bytes, stdout_head, stderr_head, version_before, version_after, committed)
    SELECT coalesce(e.id, gen_random_uuid()), e.sandbox_id, coalesce(e.tenant, s.tenant, ''), coalesce(e.route, ''), coalesce(e.caller, ''), left(coalesce(e.agent, ''), 128), coalesce(e.script, ''),
           coalesce(e.cwd, '/'), coalesce(e.read_only, false), e.exit_code, e.error, e.idempotency_key, least(greatest(coalesce(e.started_at, clock_timestamp()), clock_timestamp() - interval '1 day'), clock_timestamp()),
           greatest(e.duration_us, 0), greatest(e.stdout_bytes, 0), greatest(e.stderr_bytes, 0), left(coalesce(e.stdout_head, ''), 4096), left(coalesce(e.stderr_head, ''), 4096),
           v.version, v.version, false
      FROM jsonb_to_recordset(p_execs)
        AS e (id uuid, sandbox_id uuid, tenant text, route text, caller text, agent text, script text, cwd text, read_only boolean, exit_code integer, error text,
              idempotency_key text, started_at timestamptz, duration_us bigint, stdout_bytes bigint, stderr_bytes bigint, stdout_head text,
              stderr_head text, version bigint)
      LEFT JOIN pgbox.sandbox s ON s.id = e.sandbox_id
     CROSS JOIN LATERAL (SELECT least(greatest(coalesce(e.version, s.version), 0), coalesce(s.version, 0)) AS version) v
     -- The nil id is for what concerns no sandbox: images, quotas.
     WHERE s.id IS NOT NULL OR e.sandbox_id = '00000000-0000-0000-0000-000000000000'
    ON CONFLICT ON CONSTRAINT exec_pkey DO NOTHING;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    RETURN v_rows;
END
$$;

ALTER FUNCTION fs.log_execs(jsonb) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION fs.log_execs(jsonb) IS
    'Writes the audit rows of runs that committed nothing (read-only, failed, killed, or without a change), of any sandboxes, and returns how many were new. p_execs is an array of objects with the keys of fs.apply''s p_exec, sandbox_id, and version: the one the run saw. A row cannot claim a commit, a time before yesterday or in the future, or a version that does not exist yet. db_role and logged_at say who wrote it and when.';
