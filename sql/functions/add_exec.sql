CREATE FUNCTION pgbox.add_exec(p_sandbox uuid, p_exec jsonb, p_version_before bigint, p_version_after bigint) RETURNS uuid
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_id uuid := coalesce((p_exec->>'id')::uuid, gen_random_uuid());
BEGIN
    INSERT INTO pgbox.exec (id, sandbox_id, tenant, route, caller, script, cwd, read_only, exit_code, idempotency_key, started_at, duration_us,
                            stdout_bytes, stderr_bytes, stdout_head, stderr_head, version_before, version_after, committed)
    VALUES (v_id, p_sandbox, coalesce(p_exec->>'tenant', ''), coalesce(p_exec->>'route', ''), coalesce(p_exec->>'caller', ''), coalesce(p_exec->>'script', ''),
            coalesce(p_exec->>'cwd', '/'), coalesce((p_exec->>'read_only')::boolean, false), (p_exec->>'exit_code')::integer, p_exec->>'idempotency_key',
            coalesce((p_exec->>'started_at')::timestamptz, clock_timestamp()), coalesce((p_exec->>'duration_us')::bigint, (extract(epoch FROM clock_timestamp() - now()) * 1000000)::bigint),
            coalesce((p_exec->>'stdout_bytes')::bigint, 0), coalesce((p_exec->>'stderr_bytes')::bigint, 0),
            coalesce(p_exec->>'stdout_head', ''), coalesce(p_exec->>'stderr_head', ''),
            p_version_before, coalesce(p_version_after, p_version_before), p_version_after IS NOT NULL);
    RETURN v_id;
END
$$;

COMMENT ON FUNCTION pgbox.add_exec(uuid, jsonb, bigint, bigint) IS
    'Writes one audit row of a run; p_version_after is NULL when it committed nothing. Keys of p_exec are columns of pgbox.exec; without duration_us it is that of the transaction so far.';
