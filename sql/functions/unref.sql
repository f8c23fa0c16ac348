CREATE FUNCTION pgbox.unref(p_layers uuid[], p_inode pgbox.inode, p_now bigint, OUT bytes bigint, OUT inodes bigint)
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    bytes := 0;
    inodes := 0;
    IF p_inode.kind <> pgbox.kind('dir') AND p_inode.nlink > 1 THEN
        p_inode.nlink := p_inode.nlink - 1;
        p_inode.ctime := p_now;
        PERFORM pgbox.put_inode(p_layers[1], p_inode);
        RETURN;
    END IF;
    PERFORM pgbox.forget(p_layers, ARRAY[p_inode.ino]);
    IF p_inode.ino >= pgbox.first_ino() THEN
        inodes := -1;
        bytes := CASE WHEN p_inode.kind = pgbox.kind('file') THEN -p_inode.size ELSE 0 END;
    END IF;
END
$$;

COMMENT ON FUNCTION pgbox.unref(uuid[], pgbox.inode, bigint) IS
    'Takes one name away from an inode (an empty directory loses its only one) and returns the change of usage.';
