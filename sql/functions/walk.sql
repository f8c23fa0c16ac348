-- One loop, one index probe per layer and component: measured about twice as
-- fast as a recursive CTE. The stack of directories walked so far answers ".."
-- without a query and is what rename needs to see that a directory would move
-- below itself.
CREATE FUNCTION pgbox.walk(
    p_layers uuid[], p_path text, p_mode text, p_op text,
    OUT dir bigint, OUT dirs bigint[], OUT dir_path text, OUT name text, OUT last text,
    OUT slash boolean, OUT ino bigint, OUT kind smallint, OUT target text, OUT path text)
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_parts text[];
    v_names text[] := '{}';
    v_i     integer := 0;
    v_n     integer;
    v_own   integer; -- how many of the last components the caller wrote himself
    v_hops  integer := 0;
    v_final boolean;
    v_fault text;
BEGIN
    dirs := '{1}';
    dir := 1;
    last := 'root';
    IF p_path IS NULL THEN
        v_fault := 'EINVAL';
    ELSIF p_path = '' THEN
        v_fault := 'ENOENT';
    ELSIF octet_length(p_path) >= 4096 THEN
        v_fault := 'ENAMETOOLONG';
    ELSE
        v_parts := array_remove(string_to_array(p_path, '/'), '');
        slash := right(p_path, 1) = '/';
        v_n := cardinality(v_parts);
        v_own := v_n;
        WHILE v_i < v_n LOOP
            v_i := v_i + 1;
            name := v_parts[v_i];
            v_final := v_i = v_n;
            IF name = '.' THEN
                last := 'dot';
                CONTINUE;
            END IF;
            IF name = '..' THEN
                last := 'dotdot';
                IF v_final AND p_mode IN ('parent', 'rename') THEN
                    EXIT;
                END IF;
                IF cardinality(dirs) > 1 THEN
                    dirs := trim_array(dirs, 1);
                    v_names := trim_array(v_names, 1);
                    dir := dirs[cardinality(dirs)];
                END IF;
                CONTINUE;
            END IF;
            last := 'norm';
            IF v_final THEN
                IF p_mode = 'rename' THEN
                    EXIT;
                END IF;
                IF slash AND p_mode = 'create' THEN
                    v_fault := 'EISDIR';
                    EXIT;
                END IF;
            END IF;
            IF octet_length(name) > 255 THEN
                v_fault := 'ENAMETOOLONG';
                EXIT;
            END IF;
            ino := NULL;
            kind := NULL;
            target := NULL;
            SELECT d.ino, i.kind, i.target INTO ino, kind, target
              FROM (SELECT e.ino
                      FROM pgbox.dirent e
                     WHERE e.layer_id = ANY (p_layers) AND e.parent_ino = dir AND e.name = v_parts[v_i] COLLATE "C"
                     ORDER BY array_position(p_layers, e.layer_id)
                     LIMIT 1) d
              LEFT JOIN LATERAL (SELECT n.kind, n.target
                      FROM pgbox.inode n
                     WHERE n.layer_id = ANY (p_layers) AND n.ino = d.ino
                     ORDER BY array_position(p_layers, n.layer_id)
                     LIMIT 1) i ON true;
            IF ino IS NULL THEN
                IF p_mode = 'mkdirs' THEN
                    IF v_n - v_i >= v_own THEN
                        v_fault := 'EEXIST'; -- a dangling link is not a place for a directory
                    END IF;
                ELSIF NOT (v_final AND p_mode IN ('parent', 'create')) THEN
                    v_fault := 'ENOENT';
                END IF;
                EXIT;
            END IF;
            IF coalesce(kind, pgbox.kind('whiteout')) = pgbox.kind('whiteout') THEN
                v_fault := 'EIO'; -- a name without an inode
                EXIT;
            END IF;
            IF kind = pgbox.kind('symlink') AND (NOT v_final OR p_mode IN ('follow', 'create', 'mkdirs') OR slash AND p_mode = 'nofollow') THEN
                v_hops := v_hops + 1;
                IF v_hops > 40 THEN
                    v_fault := 'ELOOP';
                    EXIT;
                END IF;
                v_own := least(v_own, v_n - v_i);
                IF v_final AND right(target, 1) = '/' THEN
                    slash := true;
                END IF;
                IF left(target, 1) = '/' THEN
                    dirs := '{1}';
                    dir := 1;
                    v_names := '{}';
                    last := 'root';
                END IF;
                v_parts := array_remove(string_to_array(target, '/'), '') || v_parts[v_i + 1:];
                v_n := cardinality(v_parts);
                v_i := 0;
                -- a link to "/" leaves nothing to look up
                ino := NULL;
                kind := NULL;
                target := NULL;
                name := NULL;
                CONTINUE;
            END IF;
            IF kind <> pgbox.kind('dir') AND (NOT v_final OR slash AND p_mode <> 'parent') THEN
                v_fault := 'ENOTDIR';
                EXIT;
            END IF;
            IF v_final THEN
                EXIT;
            END IF;
            dirs := dirs || ino;
            dir := ino;
            v_names := v_names || name;
        END LOOP;
    END IF;
    IF v_fault IS NOT NULL THEN
        IF p_op IS NOT NULL THEN
            PERFORM pgbox.raise_errno(v_fault, p_op, p_path);
        END IF;
        ino := NULL;
        kind := NULL;
        RETURN;
    END IF;
    dir_path := '/' || array_to_string(v_names, '/');
    IF last = 'norm' THEN
        path := CASE WHEN dir = 1 THEN '/' || name ELSE dir_path || '/' || name END;
    ELSE
        name := NULL;
        ino := dir;
        kind := pgbox.kind('dir');
        path := dir_path;
    END IF;
END
$$;
COMMENT ON FUNCTION pgbox.walk(uuid[], text, text, text) IS
'Resolves a path as path_resolution(7) says. Modes: follow (stat); nofollow (lstat); parent (unlink, mkdir: the last component is not followed and may be missing); rename (the last component is not even looked up); create (open with O_CREAT); mkdirs (stops at the first missing directory). With a NULL p_op nothing is raised: ino is NULL when the path cannot be resolved.';
