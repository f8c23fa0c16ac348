CREATE FUNCTION pgbox.set_attr(p_op text, p_path text, p_follow boolean, p_mode integer, p_uid integer, p_gid integer, p_mtime bigint) RETURNS void
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_sandbox pgbox.sandbox := pgbox.enter(true);
    v         record;
    n         pgbox.inode;
BEGIN
    v := pgbox.walk(v_sandbox.layers, p_path, CASE WHEN p_follow THEN 'follow' ELSE 'nofollow' END, p_op);
    n := pgbox.inode_of(v_sandbox.layers, v.ino);
    n.mode := coalesce(p_mode & 4095, n.mode);
    n.uid := coalesce(p_uid, n.uid);
    n.gid := coalesce(p_gid, n.gid);
    n.mtime := coalesce(p_mtime, n.mtime);
    n.ctime := pgbox.now_ns();
    PERFORM pgbox.put_inode(v_sandbox.layers[1], n);
    PERFORM pgbox.record(v_sandbox, ARRAY[p_op], ARRAY[v.path], NULL, ARRAY[n.ino]);
END
$$;

COMMENT ON FUNCTION pgbox.set_attr(text, text, boolean, integer, integer, integer, bigint) IS
    'Sets attributes of an inode, where NULL leaves one as it is: what chmod, chown and utimes share.';
