CREATE FUNCTION fs.link(p_from text, p_to text) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off
    SET jit = off
    SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    v_sandbox pgbox.sandbox := pgbox.enter(true);
    v_now     bigint := pgbox.now_ns();
    f         record;
    t         record;
    n         pgbox.inode;
BEGIN
    f := pgbox.walk(v_sandbox.layers, p_from, 'nofollow', 'link');
    t := pgbox.vacant(v_sandbox.layers, p_to, 'link', false);
    IF f.kind = pgbox.kind('dir') THEN
        PERFORM pgbox.raise_errno('EPERM', 'link', p_from);
    END IF;
    n := pgbox.inode_of(v_sandbox.layers, f.ino);
    n.nlink := n.nlink + 1;
    n.ctime := v_now;
    PERFORM pgbox.put_inode(v_sandbox.layers[1], n);
    PERFORM pgbox.set_name(v_sandbox.layers, t.dir, t.name, n.ino);
    PERFORM pgbox.touch_dir(v_sandbox.layers, t.dir, v_now, 0);
    PERFORM pgbox.record(v_sandbox, ARRAY['link'], ARRAY[f.path], ARRAY[t.path], ARRAY[n.ino]);
    RETURN n.ino;
END
$$;

COMMENT ON FUNCTION fs.link(text, text) IS
    'Makes another name (a hard link) for a file; a symlink in the last component of p_from is not followed. Returns the inode number.';
