CREATE FUNCTION fs.readdir_at(p_path text, p_at text) RETURNS SETOF fs.entry
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_at text := coalesce(current_setting('app.at', true), '');
BEGIN
    PERFORM set_config('app.at', coalesce(p_at, ''), true);
    RETURN QUERY SELECT t.* FROM fs.readdir(p_path) t;
    PERFORM set_config('app.at', v_at, true);
END
$$;

COMMENT ON FUNCTION fs.readdir_at(text, text) IS
    'Is fs.readdir() at an earlier state of the sandbox: a snapshot, @base, a version or a time.';
