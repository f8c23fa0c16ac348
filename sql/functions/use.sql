CREATE FUNCTION fs.use(p_sandbox uuid, p_at text DEFAULT NULL) RETURNS uuid
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM set_config('app.sandbox_id', p_sandbox::text, false);
    PERFORM set_config('app.at', coalesce(p_at, ''), false);
    PERFORM pgbox.enter(false);
    PERFORM pgbox.enter_read();
    RETURN p_sandbox;
END
$$;

COMMENT ON FUNCTION fs.use(uuid, text) IS
    'Puts a sandbox in scope for the rest of the session; with p_at as it was then (a snapshot, @base, a version or a time), read-only. For psql: the functions of the gateway take the sandbox as an argument.';
