CREATE FUNCTION pgbox.remove_below(p_layers uuid[], p_dir bigint, p_now bigint, OUT bytes bigint, OUT inodes bigint)
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_parent bigint[];
    v_name   text[];
    v_ino    bigint[];
    v_gone   bigint[];
BEGIN
    SELECT array_agg(t.parent), array_agg(t.name), array_agg(t.ino)
      INTO v_parent, v_name, v_ino
      FROM pgbox.subtree(p_layers, p_dir, '/', NULL) t
     WHERE t.depth > 0;

    PERFORM pgbox.forget_names(p_layers, v_parent, v_name);

    SELECT array_agg(i.ino), -coalesce(sum(i.size) FILTER (WHERE i.kind = 8 AND i.ino >= pgbox.first_ino()), 0),
           -count(*) FILTER (WHERE i.ino >= pgbox.first_ino())
      INTO v_gone, bytes, inodes
      FROM (SELECT u.ino, count(*)::integer AS names FROM unnest(v_ino) AS u (ino) GROUP BY u.ino) x
     CROSS JOIN LATERAL (SELECT n.* FROM pgbox.inode n
                          WHERE n.layer_id = ANY (p_layers) AND n.ino = x.ino
                          ORDER BY array_position(p_layers, n.layer_id) LIMIT 1) i
     WHERE i.kind = 4 OR i.nlink <= x.names;

    -- A file with names elsewhere stays.
    INSERT INTO pgbox.inode AS n (layer_id, ino, kind, mode, uid, gid, nlink, rdev, size, mtime, ctime, target)
    SELECT p_layers[1], i.ino, i.kind, i.mode, i.uid, i.gid, i.nlink - x.names, i.rdev, i.size, i.mtime, p_now, i.target
      FROM (SELECT u.ino, count(*)::integer AS names FROM unnest(v_ino) AS u (ino) GROUP BY u.ino) x
     CROSS JOIN LATERAL (SELECT n.* FROM pgbox.inode n
                          WHERE n.layer_id = ANY (p_layers) AND n.ino = x.ino
                          ORDER BY array_position(p_layers, n.layer_id) LIMIT 1) i
     WHERE i.kind <> 4 AND i.nlink > x.names
    ON CONFLICT ON CONSTRAINT inode_pkey DO UPDATE SET nlink = excluded.nlink, ctime = excluded.ctime;

    PERFORM pgbox.forget(p_layers, v_gone);
END
$$;

COMMENT ON FUNCTION pgbox.remove_below(uuid[], bigint, bigint) IS
    'Removes all that is in a directory, set by set, and returns what that does to the usage. Names of lower layers get whiteouts one by one, so that no effective name is left behind without its directory.';
