-- A pooler gives its clients process numbers of its own, so this one tells whether there is one in between.
CREATE FUNCTION fs.session() RETURNS TABLE (pid integer, role text, superuser boolean)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT pg_backend_pid(), r.rolname::text, r.rolsuper
      FROM pg_roles r
     WHERE r.rolname = CASE current_setting('role') WHEN 'none' THEN session_user::text ELSE current_setting('role') END;
END
$$;

COMMENT ON FUNCTION fs.session() IS
    'The server process that answers, the role that asks, and whether that role is a superuser.';
