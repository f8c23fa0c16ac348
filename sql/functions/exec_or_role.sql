CREATE FUNCTION pgbox.exec_or_role(p_exec jsonb, p_tenant text, p_what text) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM pgbox.need_exec(p_exec, split_part(p_what, ' ', 1));
    RETURN coalesce(p_exec, jsonb_build_object('tenant', p_tenant, 'route', 'sql', 'caller', session_user, 'script', p_what));
END
$$;

COMMENT ON FUNCTION pgbox.exec_or_role(jsonb, text, text) IS
    'The audit row of a verb whose p_exec may be NULL: then only the database role is known. EINVAL when p_exec cannot be a row.';
