CREATE FUNCTION pgbox.merge_apply(p_layers uuid[], p_from uuid[], p_steps fs.merge_step[]) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    s fs.merge_step;
BEGIN
    FOREACH s IN ARRAY p_steps LOOP
        CASE s.verb
        WHEN 'mkdir' THEN
            PERFORM fs.mkdir(s.path, p_parents => true);
        WHEN 'mv' THEN
            PERFORM fs.mv(s.path, s.path_to);
        WHEN 'rm', 'rm -r' THEN
            PERFORM fs.rm(s.path, s.verb = 'rm -r');
        WHEN 'link' THEN
            PERFORM fs.link(s.path, s.path_to);
        WHEN 'take', 'take new' THEN
            PERFORM pgbox.take(p_layers, s.path, p_from, s.ino, s.verb = 'take new');
        WHEN 'write' THEN
            PERFORM fs.write_file(s.path, s.data);
        WHEN 'attributes' THEN
            PERFORM fs.chmod(s.path, s.mode), fs.chown(s.path, s.uid, s.gid, false);
        END CASE;
    END LOOP;
END
$$;

ALTER FUNCTION pgbox.merge_apply(uuid[], uuid[], fs.merge_step[]) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION pgbox.merge_apply(uuid[], uuid[], fs.merge_step[]) IS
    'Does what pgbox.merge_plan() has planned for one change, in the sandbox in scope, which stands on p_layers.';
