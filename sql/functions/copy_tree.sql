CREATE FUNCTION pgbox.copy_tree(p_sandbox pgbox.sandbox, p_ino bigint, p_dir bigint, p_name text, p_now bigint, OUT bytes bigint, OUT inodes bigint)
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_old    bigint[]; -- each inode once, the copied one first; its copy has the number next_ino + position - 1
    v_new    bigint[];
    v_parent bigint[];
    v_name   text[];
    v_child  bigint[];
BEGIN
    WITH t AS MATERIALIZED (
        SELECT s.parent, s.name, s.ino, s.depth, s.path FROM pgbox.subtree(p_sandbox.layers, p_ino, '/', NULL) s
    ), o AS (
        SELECT t.ino, row_number() OVER (ORDER BY min(t.depth), min(t.path) COLLATE "C") AS n FROM t GROUP BY t.ino
    )
    SELECT (SELECT array_agg(o.ino ORDER BY o.n) FROM o), (SELECT array_agg(p_sandbox.next_ino + o.n - 1 ORDER BY o.n) FROM o),
           array_agg(t.parent), array_agg(t.name), array_agg(t.ino)
      INTO v_old, v_new, v_parent, v_name, v_child
      FROM t
     WHERE t.depth > 0;

    INSERT INTO pgbox.dirent (layer_id, parent_ino, name, ino)
    SELECT p_sandbox.layers[1], p.ino_to, x.name, c.ino_to
      FROM unnest(v_parent, v_name, v_child) AS x (parent, name, child)
      JOIN unnest(v_old, v_new) AS p (ino, ino_to) ON p.ino = x.parent
      JOIN unnest(v_old, v_new) AS c (ino, ino_to) ON c.ino = x.child;
    PERFORM pgbox.set_name(p_sandbox.layers, p_dir, p_name, v_new[1]);

    INSERT INTO pgbox.inode (layer_id, ino, kind, mode, uid, gid, nlink, rdev, size, mtime, ctime, target)
    SELECT p_sandbox.layers[1], x.ino_to, i.kind, i.mode, i.uid, i.gid,
           CASE WHEN i.kind = 4 THEN i.nlink ELSE coalesce(l.names, 1) END, i.rdev, i.size, i.mtime, p_now, i.target
      FROM unnest(v_old, v_new) AS x (ino, ino_to)
     CROSS JOIN LATERAL (SELECT n.* FROM pgbox.inode n
                          WHERE n.layer_id = ANY (p_sandbox.layers) AND n.ino = x.ino
                          ORDER BY array_position(p_sandbox.layers, n.layer_id) LIMIT 1) i
      LEFT JOIN (SELECT u.child, count(*)::integer AS names FROM unnest(v_child) AS u (child) GROUP BY u.child) l ON l.child = x.ino;

    PERFORM pgbox.copy_chunks(p_sandbox.layers, v_old, v_new);

    inodes := cardinality(v_old);
    SELECT coalesce(sum(i.size), 0) INTO bytes
      FROM unnest(v_old) AS x (ino)
     CROSS JOIN LATERAL (SELECT n.* FROM pgbox.inode n
                          WHERE n.layer_id = ANY (p_sandbox.layers) AND n.ino = x.ino
                          ORDER BY array_position(p_sandbox.layers, n.layer_id) LIMIT 1) i
     WHERE i.kind = 8;
END
$$;

COMMENT ON FUNCTION pgbox.copy_tree(pgbox.sandbox, bigint, bigint, text, bigint) IS
    'Copies an inode and all below it to a new name, set by set, and returns what that adds to the usage. The first new number is next_ino, for the inode itself.';
