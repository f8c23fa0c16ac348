CREATE FUNCTION pgbox.put_inode(p_top uuid, p_inode pgbox.inode) RETURNS void
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    INSERT INTO pgbox.inode AS n (layer_id, ino, kind, mode, uid, gid, nlink, rdev, size, mtime, ctime, target)
    VALUES (p_top, p_inode.ino, p_inode.kind, p_inode.mode, p_inode.uid, p_inode.gid, p_inode.nlink, coalesce(p_inode.rdev, 0),
            coalesce(p_inode.size, 0), p_inode.mtime, p_inode.ctime, p_inode.target)
    ON CONFLICT ON CONSTRAINT inode_pkey DO UPDATE
       SET kind = excluded.kind, mode = excluded.mode, uid = excluded.uid, gid = excluded.gid, nlink = excluded.nlink,
           rdev = excluded.rdev, size = excluded.size, mtime = excluded.mtime, ctime = excluded.ctime, target = excluded.target;
END
$$;

COMMENT ON FUNCTION pgbox.put_inode(uuid, pgbox.inode) IS
    'Writes an inode row into the top layer. For an inode of a lower layer this is the copy-up: the number stays, and so do its chunks.';
