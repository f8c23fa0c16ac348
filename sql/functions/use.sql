CREATE FUNCTION fs.use(p_sandbox uuid) RETURNS uuid
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM set_config('app.sandbox_id', p_sandbox::text, false);
    PERFORM pgbox.enter(false);
    RETURN p_sandbox;
END
$$;

COMMENT ON FUNCTION fs.use(uuid) IS
    'Puts a sandbox in scope for the rest of the session. For psql; the functions of the gateway take the sandbox as an argument.';
