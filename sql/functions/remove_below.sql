CREATE FUNCTION pgbox.remove_below(
    p_layers   uuid[],
    p_dir      bigint,
    p_path     text,
    p_now      bigint,
    p_hashes   boolean,
    OUT path       text[],
    OUT ino        bigint[],
    OUT size       bigint[],
    OUT hash       bytea[],
    OUT size_after bigint[],
    OUT hash_after bytea[],
    OUT bytes      bigint,
    OUT inodes     bigint
)
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
    SET work_mem = '64MB'
AS $$
#variable_conflict use_column
DECLARE
    v_parent bigint[];
    v_name   text[];
    v_stays  boolean[];
    v_gone   bigint[];
BEGIN
    WITH t AS MATERIALIZED (
        SELECT s.path, s.name, s.parent, s.depth, s.ino, s.kind, s.nlink, CASE s.kind WHEN pgbox.kind('file') THEN s.size END AS size,
               CASE WHEN s.size <= 67108864 THEN s.content_hash END AS hash
          FROM pgbox.subtree(p_layers, p_dir, p_path, NULL, p_hashes) s
         WHERE s.depth > 0
    )
    SELECT array_agg(x.path), array_agg(x.parent), array_agg(x.name), array_agg(x.ino), array_agg(x.size), array_agg(x.hash), array_agg(x.stays),
           array_agg(CASE WHEN x.stays THEN x.size END), array_agg(CASE WHEN x.stays THEN x.hash END)
      INTO path, v_parent, v_name, ino, size, hash, v_stays, size_after, hash_after
      -- A file with names elsewhere stays.
      FROM (SELECT t.*, t.kind <> pgbox.kind('dir') AND t.nlink > coalesce(l.names, 1) AS stays
              FROM t
              LEFT JOIN (SELECT c.ino, count(*) AS names FROM t c WHERE c.kind <> pgbox.kind('dir') AND c.nlink > 1 GROUP BY c.ino) l ON l.ino = t.ino
             ORDER BY t.depth DESC, t.path COLLATE "C") x;

    PERFORM pgbox.forget_names(p_layers, v_parent, v_name);

    SELECT array_agg(g.ino ORDER BY g.ino), -coalesce(sum(g.size) FILTER (WHERE g.ino >= pgbox.first_ino()), 0),
           -count(*) FILTER (WHERE g.ino >= pgbox.first_ino())
      INTO v_gone, bytes, inodes
      FROM (SELECT DISTINCT u.ino, u.size FROM unnest(ino, size, v_stays) AS u (ino, size, stays) WHERE NOT u.stays) g;

    IF true = ANY (v_stays) THEN
        INSERT INTO pgbox.inode AS n (layer_id, ino, kind, mode, uid, gid, nlink, rdev, size, mtime, ctime, target)
        SELECT p_layers[1], i.ino, i.kind, i.mode, i.uid, i.gid, i.nlink - x.names, i.rdev, i.size, i.mtime, p_now, i.target
          FROM (SELECT u.ino, count(*)::integer AS names FROM unnest(ino, v_stays) AS u (ino, stays) WHERE u.stays GROUP BY u.ino) x
         CROSS JOIN LATERAL (SELECT r.* FROM pgbox.inode r
                              WHERE r.layer_id = ANY (p_layers) AND r.ino = x.ino
                              ORDER BY array_position(p_layers, r.layer_id) LIMIT 1) i
        ON CONFLICT ON CONSTRAINT inode_pkey DO UPDATE SET nlink = excluded.nlink, ctime = excluded.ctime;
    END IF;

    PERFORM pgbox.forget(p_layers, v_gone);
END
$$;

COMMENT ON FUNCTION pgbox.remove_below(uuid[], bigint, text, bigint, boolean) IS
    'Removes everything below a directory with set-based statements. Returns what it was, for the journal, deepest first (with p_hashes also the content), what is left of files with names elsewhere, and the change of usage. Names of lower layers get a whiteout each, so that no effective name is left without its directory.';
