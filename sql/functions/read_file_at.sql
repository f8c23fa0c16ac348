CREATE FUNCTION fs.read_file_at(p_path text, p_at text, p_offset bigint DEFAULT 0, p_length bigint DEFAULT NULL) RETURNS bytea
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_at   text := coalesce(current_setting('app.at', true), '');
    v_data bytea;
BEGIN
    PERFORM set_config('app.at', coalesce(p_at, ''), true);
    v_data := fs.read_file(p_path, p_offset, p_length);
    PERFORM set_config('app.at', v_at, true);
    RETURN v_data;
END
$$;

COMMENT ON FUNCTION fs.read_file_at(text, text, bigint, bigint) IS
    'Is fs.read_file() at an earlier state of the sandbox: a snapshot, @base, a version or a time.';
