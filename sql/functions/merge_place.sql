CREATE FUNCTION pgbox.merge_place(
    p_layers uuid[], p_base uuid[], p_from uuid[], p_kin boolean, p_moved text[],
    p_status text, p_path text, p_path_from text, p_ino bigint,
    OUT here text, OUT target text, OUT renamed boolean)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off
    SET jit = off
AS $$
DECLARE
    v_was  record;
    v_old  text := coalesce(nullif(p_path_from, ''), p_path);
    v_dir  text;
    v_at   text;
    v_ino  bigint;
BEGIN
    renamed := false;
    here := CASE WHEN p_status = 'M' AND p_path_from <> '' THEN p_path ELSE v_old END;
    FOR i IN 1..cardinality(p_moved) / 2 LOOP
        IF starts_with(here, p_moved[2 * i - 1] || '/') THEN
            here := p_moved[2 * i] || substr(here, length(p_moved[2 * i - 1]) + 1);
        END IF;
    END LOOP;
    IF p_kin AND p_ino > 1 THEN
        -- Of a file with several names, the one that it had.
        v_was := pgbox.walk(p_base, v_old, 'nofollow', NULL);
        IF v_was.name IS NOT NULL AND pgbox.lookup(p_layers, v_was.dir, v_was.name) = p_ino THEN
            SELECT d.path || '/' || v_was.name INTO v_at FROM pgbox.dir_paths(p_layers, ARRAY[v_was.dir]) d LIMIT 1;
        ELSE
            SELECT min(d.path) INTO v_at FROM pgbox.dir_paths(p_layers, ARRAY[p_ino]) d;
            renamed := v_at IS NOT NULL;
        END IF;
        here := coalesce(v_at, here);
    END IF;
    target := CASE WHEN p_status IN ('A', 'R') THEN p_path ELSE here END;
    IF p_status IN ('A', 'R') AND p_kin THEN
        -- The nearest directory above it that both know may have been moved here: what is new in it follows.
        v_dir := p_path;
        LOOP
            v_dir := regexp_replace(v_dir, '/[^/]*$', '');
            EXIT WHEN v_dir = '';
            v_ino := (pgbox.walk(p_from, v_dir, 'nofollow', NULL)).ino;
            IF (pgbox.inode_of(p_base, v_ino)).ino IS NOT NULL THEN
                target := coalesce((SELECT d.path FROM pgbox.dir_paths(p_layers, ARRAY[v_ino]) d), v_dir) || substr(p_path, length(v_dir) + 1);
                EXIT;
            END IF;
        END LOOP;
    END IF;
END
$$;

ALTER FUNCTION pgbox.merge_place(uuid[], uuid[], uuid[], boolean, text[], text, text, text, bigint) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION pgbox.merge_place(uuid[], uuid[], uuid[], boolean, text[], text, text, text, bigint) IS
    'Where a change of the other side concerns the sandbox in scope. here is where the changed file is now: found by its number when both sides are of one line (p_kin), else by its path, following the directories renamed so far (p_moved). target is where it is to be. renamed: it was given another name here.';
