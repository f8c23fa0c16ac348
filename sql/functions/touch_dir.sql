CREATE FUNCTION pgbox.touch_dir(p_layers uuid[], p_dir bigint, p_now bigint, p_nlink integer) RETURNS void
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_inode pgbox.inode := pgbox.inode_of(p_layers, p_dir);
BEGIN
    v_inode.nlink := v_inode.nlink + p_nlink;
    v_inode.mtime := p_now;
    v_inode.ctime := p_now;
    PERFORM pgbox.put_inode(p_layers[1], v_inode);
END
$$;

COMMENT ON FUNCTION pgbox.touch_dir(uuid[], bigint, bigint, integer) IS
    'Notes in a directory that its names changed: sets both times, and adds p_nlink to its link count.';
