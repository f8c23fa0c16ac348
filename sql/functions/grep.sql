CREATE FUNCTION fs.grep(p_pattern text, p_path text DEFAULT '/', p_name text DEFAULT NULL, p_ignore_case boolean DEFAULT false) RETURNS SETOF fs.grep_match
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET jit = off
    SET enable_seqscan = off
    SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    v_sandbox pgbox.sandbox := pgbox.enter_read();
    v_pattern text := CASE WHEN p_ignore_case THEN '(?i)' ELSE '' END || p_pattern;
    v_regex   text := pgbox.glob_regex(p_name);
    v         record;
    v_file    record;
    v_text    text;
BEGIN
    v := pgbox.walk(v_sandbox.layers, p_path, 'follow', 'grep');
    FOR v_file IN
        SELECT t.path, t.ino, t.size
          FROM pgbox.subtree(v_sandbox.layers, v.ino, v.path, NULL) t
         WHERE t.kind = pgbox.kind('file') AND t.size > 0 AND (v_regex IS NULL OR t.name ~ v_regex)
         ORDER BY replace(t.path, '/', E'\x01') COLLATE "C"
    LOOP
        v_text := pgbox.text_of(pgbox.content_of(v_sandbox.layers, v_file.ino, v_file.size, 0, v_file.size));
        RETURN QUERY
        SELECT v_file.path, l.n, l.line
          FROM string_to_table(CASE WHEN right(v_text, 1) = E'\n' THEN left(v_text, -1) ELSE v_text END, E'\n') WITH ORDINALITY AS l (line, n)
         WHERE l.line ~ v_pattern;
    END LOOP;
END
$$;

COMMENT ON FUNCTION fs.grep(text, text, text, boolean) IS
    'Finds the lines that match a regular expression (PostgreSQL chapter 9.7.3) in the files at and below a path, optionally only in files whose name matches a shell pattern. Files with NUL bytes are skipped, symlinks below the path are not followed.';
