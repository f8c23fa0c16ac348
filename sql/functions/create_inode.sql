CREATE FUNCTION pgbox.create_inode(p_sandbox pgbox.sandbox, p_dir bigint, p_name text, p_inode pgbox.inode) RETURNS pgbox.inode
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_now bigint := pgbox.now_ns();
BEGIN
    p_inode.ino := p_sandbox.next_ino;
    p_inode.mode := p_inode.mode & 4095;
    p_inode.uid := 1000;
    p_inode.gid := 1000;
    p_inode.nlink := CASE WHEN p_inode.kind = pgbox.kind('dir') THEN 2 ELSE 1 END;
    p_inode.mtime := v_now;
    p_inode.ctime := v_now;
    PERFORM pgbox.put_inode(p_sandbox.layers[1], p_inode);
    PERFORM pgbox.set_name(p_sandbox.layers, p_dir, p_name, p_inode.ino);
    PERFORM pgbox.touch_dir(p_sandbox.layers, p_dir, v_now, CASE WHEN p_inode.kind = pgbox.kind('dir') THEN 1 ELSE 0 END);
    RETURN p_inode;
END
$$;

COMMENT ON FUNCTION pgbox.create_inode(pgbox.sandbox, bigint, text, pgbox.inode) IS
    'Makes an inode with the next free number and its name. Kind, mode, rdev, size and target come from p_inode; the owner is the user of the sandbox (uid 1000).';
