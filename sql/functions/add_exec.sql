CREATE FUNCTION pgbox.add_exec(p_sandbox uuid, p_exec jsonb, p_version_before bigint, p_version_after bigint, p_merged_from uuid DEFAULT NULL) RETURNS uuid
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_id uuid := coalesce((p_exec->>'id')::uuid, gen_random_uuid());
    v_at timestamptz := coalesce((p_exec->>'started_at')::timestamptz, clock_timestamp());
BEGIN
    INSERT INTO pgbox.exec (id, sandbox_id, tenant, route, caller, agent, merged_from, script, cwd, read_only, exit_code, idempotency_key, started_at, duration_us,
                            stdout_bytes, stderr_bytes, stdout_head, stderr_head, version_before, version_after, committed)
    VALUES (v_id, p_sandbox, coalesce(p_exec->>'tenant', ''), coalesce(p_exec->>'route', ''), coalesce(p_exec->>'caller', ''), left(coalesce(p_exec->>'agent', ''), 128), p_merged_from,
            coalesce(p_exec->>'script', ''),
            coalesce(p_exec->>'cwd', '/'), coalesce((p_exec->>'read_only')::boolean, false), (p_exec->>'exit_code')::integer, p_exec->>'idempotency_key',
            least(greatest(v_at, clock_timestamp() - interval '1 day'), clock_timestamp()), coalesce(CASE WHEN p_exec ? 'duration_us' THEN greatest((p_exec->>'duration_us')::bigint, 0) END, (extract(epoch FROM clock_timestamp() - now()) * 1000000)::bigint),
            greatest((p_exec->>'stdout_bytes')::bigint, 0), greatest((p_exec->>'stderr_bytes')::bigint, 0),
            left(coalesce(p_exec->>'stdout_head', ''), 4096), left(coalesce(p_exec->>'stderr_head', ''), 4096),
            p_version_before, coalesce(p_version_after, p_version_before), p_version_after IS NOT NULL)
    ON CONFLICT ON CONSTRAINT exec_pkey DO NOTHING;
    IF NOT FOUND THEN
        PERFORM pgbox.raise_errno('EEXIST', 'log', v_id::text);
    END IF;
    RETURN v_id;
END
$$;

COMMENT ON FUNCTION pgbox.add_exec(uuid, jsonb, bigint, bigint, uuid) IS
    'Writes the audit row of one run. p_version_after is NULL when the run committed nothing; p_merged_from is the sandbox whose changes a merge brought. The keys of p_exec are columns of pgbox.exec; without duration_us it is the duration of the transaction so far. A time in the future, or more than a day ago, is moved to that bound. EEXIST when the id is taken.';
