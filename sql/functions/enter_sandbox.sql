CREATE FUNCTION pgbox.enter_sandbox(p_sandbox uuid) RETURNS pgbox.sandbox
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM set_config('app.sandbox_id', p_sandbox::text, true), set_config('app.at', '', true);
    RETURN pgbox.enter(true);
END
$$;

COMMENT ON FUNCTION pgbox.enter_sandbox(uuid) IS
    'Is pgbox.enter(true) for a sandbox that the caller names: sets it as the scope of the transaction first.';
