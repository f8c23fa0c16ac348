CREATE FUNCTION fs.mkdir(p_path text, p_mode integer DEFAULT 493, p_parents boolean DEFAULT false) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off
    SET jit = off
    SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    v_sandbox pgbox.sandbox := pgbox.enter(true);
    v         record;
    n         pgbox.inode;
    v_paths   text[] := '{}';
    v_inos    bigint[] := '{}';
BEGIN
    IF NOT coalesce(p_parents, false) THEN
        v := pgbox.vacant(v_sandbox.layers, p_path, 'mkdir', true);
        n.kind := pgbox.kind('dir');
        n.mode := coalesce(p_mode, 493);
        n := pgbox.create_inode(v_sandbox, v.dir, v.name, n);
        PERFORM pgbox.record(v_sandbox, ARRAY['mkdir'], ARRAY[v.path], NULL, ARRAY[n.ino], 0, 1, n.ino + 1);
        RETURN n.ino;
    END IF;
    LOOP
        v := pgbox.walk(v_sandbox.layers, p_path, 'mkdirs', 'mkdir');
        EXIT WHEN v.ino IS NOT NULL;
        n := NULL;
        n.kind := pgbox.kind('dir');
        n.mode := coalesce(p_mode, 493);
        n := pgbox.create_inode(v_sandbox, v.dir, v.name, n);
        v_sandbox.next_ino := n.ino + 1;
        v_paths := v_paths || v.path::text;
        v_inos := v_inos || n.ino;
    END LOOP;
    IF v.kind <> pgbox.kind('dir') THEN
        PERFORM pgbox.raise_errno('EEXIST', 'mkdir', p_path);
    END IF;
    IF cardinality(v_inos) > 0 THEN
        PERFORM pgbox.record(v_sandbox, array_fill('mkdir'::text, ARRAY[cardinality(v_inos)]), v_paths, NULL, v_inos,
                             0, cardinality(v_inos), v_sandbox.next_ino);
    END IF;
    RETURN v.ino;
END
$$;

COMMENT ON FUNCTION fs.mkdir(text, integer, boolean) IS
    'Makes a directory. With p_parents it also makes missing parents, and an existing directory is no error. Returns the inode number.';
