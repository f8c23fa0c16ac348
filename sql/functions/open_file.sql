CREATE FUNCTION pgbox.open_file(p_sandbox pgbox.sandbox, p_path text, p_op text, p_mode integer, OUT inode pgbox.inode, OUT path text, OUT created boolean)
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v record;
BEGIN
    v := pgbox.walk(p_sandbox.layers, p_path, CASE WHEN p_op IN ('write_at', 'truncate') THEN 'follow' ELSE 'create' END,
                    CASE WHEN p_op = 'truncate' THEN 'truncate' ELSE 'open' END);
    path := v.path;
    created := v.ino IS NULL;
    IF created THEN
        inode.kind := pgbox.kind('file');
        inode.mode := p_mode;
        inode.size := 0;
        inode := pgbox.create_inode(p_sandbox, v.dir, v.name, inode);
    ELSIF v.kind = pgbox.kind('dir') THEN
        PERFORM pgbox.raise_errno('EISDIR', CASE WHEN p_op = 'truncate' THEN 'truncate' ELSE 'open' END, p_path);
    ELSIF v.kind <> pgbox.kind('file') AND p_op = 'truncate' THEN
        PERFORM pgbox.raise_errno('EINVAL', 'truncate', p_path);
    ELSE
        inode := pgbox.inode_of(p_sandbox.layers, v.ino);
        -- 1:3 null, 1:5 zero, 1:7 full
        IF inode.kind = pgbox.kind('fifo') OR inode.kind = pgbox.kind('char') AND inode.rdev NOT IN (259, 261, 263) THEN
            PERFORM pgbox.raise_errno('ENXIO', 'open', p_path);
        END IF;
    END IF;
END
$$;

COMMENT ON FUNCTION pgbox.open_file(pgbox.sandbox, text, text, integer) IS
    'Opens a file for pgbox.write(). For write_at and truncate the file must exist. The others create it as open(2) does with O_CREAT: a dangling symlink creates its target; a directory or a trailing slash is EISDIR.';
