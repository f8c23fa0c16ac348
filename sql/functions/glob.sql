CREATE FUNCTION fs.glob(p_pattern text) RETURNS SETOF text
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET jit = off
    SET enable_seqscan = off
    SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    v_sandbox pgbox.sandbox := pgbox.enter_read();
    v_paths   text[] := '{""}'; -- what matches so far, without a trailing slash
    v_parts   text[] := array_remove(string_to_array(p_pattern, '/'), '');
    v_part    text;
    v_regex   text;
    v_dirs    boolean := right(p_pattern, 1) = '/';
BEGIN
    IF p_pattern IS NULL OR p_pattern = '' THEN
        RETURN;
    END IF;
    FOR v_i IN 1..cardinality(v_parts) LOOP
        v_part := v_parts[v_i];
        IF v_part = '**' THEN
            v_paths := ARRAY(
                SELECT DISTINCT CASE WHEN t.path = '/' THEN '' ELSE t.path END
                  FROM unnest(v_paths) AS p (path)
                 CROSS JOIN LATERAL pgbox.walk(v_sandbox.layers, p.path || '/', 'follow', NULL) w
                 CROSS JOIN LATERAL pgbox.subtree(v_sandbox.layers, w.ino, CASE WHEN p.path = '' THEN '/' ELSE p.path END, NULL) t
                 WHERE w.ino IS NOT NULL AND substr(t.path, length(p.path) + 1) !~ '/\.'
                   -- on the way to more, "**" is directories and no symlinks to them
                   AND (t.kind = pgbox.kind('dir') OR v_i = cardinality(v_parts) AND NOT v_dirs));
        ELSIF v_part ~ '[*?[\\]' THEN
            v_regex := pgbox.glob_regex(v_part);
            v_paths := ARRAY(
                SELECT p.path || '/' || e.name
                  FROM unnest(v_paths) AS p (path)
                 CROSS JOIN LATERAL pgbox.walk(v_sandbox.layers, p.path || '/', 'follow', NULL) w
                 CROSS JOIN LATERAL pgbox.entries(v_sandbox.layers, w.ino) e
                 WHERE w.ino IS NOT NULL AND e.name ~ v_regex AND (e.name !~ '^\.' OR v_part ~ '^\\?\.'));
        ELSE
            v_paths := ARRAY(SELECT p.path || '/' || v_part FROM unnest(v_paths) AS p (path));
        END IF;
    END LOOP;
    RETURN QUERY
    SELECT CASE WHEN v_dirs OR p.path = '' THEN p.path || '/' ELSE p.path END
      FROM (SELECT DISTINCT u.path COLLATE "C" AS path FROM unnest(v_paths) AS u (path)) p
     CROSS JOIN LATERAL pgbox.walk(v_sandbox.layers, p.path || CASE WHEN v_dirs OR p.path = '' THEN '/' ELSE '' END, 'nofollow', NULL) w
     WHERE w.ino IS NOT NULL
     ORDER BY p.path;
END
$$;

COMMENT ON FUNCTION fs.glob(text) IS
    'Expands a path pattern from the root as a shell does: *, ?, [a-z], and ** for any directories. A leading dot must be written; a trailing slash matches directories only. Returns absolute paths in byte order, no row without a match.';
