CREATE FUNCTION pgbox.copy_tree(
    p_sandbox pgbox.sandbox,
    p_ino     bigint,
    p_dir     bigint,
    p_name    text,
    p_path    text,
    p_now     bigint,
    OUT op      text[],
    OUT path    text[],
    OUT target  text[],
    OUT ino     bigint[],
    OUT size    bigint[],
    OUT hash    bytea[],
    OUT bytes   bigint,
    OUT inodes  bigint
)
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
    SET work_mem = '64MB'
AS $$
#variable_conflict use_column
DECLARE
    v_kind  smallint[];
    v_dir   bigint[];
    v_name  text[];
    v_old   bigint[]; -- each file once
    v_new   bigint[];
    v_inode pgbox.inode[];
BEGIN
    WITH t AS MATERIALIZED (
        SELECT row_number() OVER (ORDER BY s.depth, s.path COLLATE "C") AS n, s.*
          FROM pgbox.subtree(p_sandbox.layers, p_ino, p_path, NULL, p_sandbox.journal) s
    ), o AS MATERIALIZED (
        -- each inode once, the copied one first
        SELECT t.ino, p_sandbox.next_ino - 1 + row_number() OVER (ORDER BY min(t.n)) AS copy, count(*)::integer AS names FROM t GROUP BY t.ino
    )
    SELECT array_agg(CASE x.kind WHEN pgbox.kind('dir') THEN 'mkdir' WHEN pgbox.kind('symlink') THEN 'symlink' WHEN pgbox.kind('file') THEN 'create' ELSE 'mknod' END), array_agg(x.path),
           array_agg(x.target), array_agg(x.copy), array_agg(CASE x.kind WHEN pgbox.kind('file') THEN x.size END),
           array_agg(CASE WHEN x.size <= 67108864 THEN x.content_hash END), array_agg(x.dir), array_agg(x.name),
           array_agg(x.ino) FILTER (WHERE x.first AND x.kind = pgbox.kind('file')), array_agg(x.copy) FILTER (WHERE x.first AND x.kind = pgbox.kind('file')),
           array_agg(ROW(p_sandbox.layers[1], x.copy, x.kind, x.mode, x.uid, x.gid, CASE x.kind WHEN pgbox.kind('dir') THEN x.nlink ELSE x.names END, x.rdev,
                         CASE x.kind WHEN pgbox.kind('file') THEN x.size ELSE 0 END, x.mtime, p_now, x.target)::pgbox.inode ORDER BY x.copy) FILTER (WHERE x.first),
           coalesce(sum(x.size) FILTER (WHERE x.first AND x.kind = pgbox.kind('file')), 0), count(*) FILTER (WHERE x.first)
      INTO op, path, target, ino, size, hash, v_dir, v_name, v_old, v_new, v_inode, bytes, inodes
      FROM (SELECT t.*, o.copy, o.names, p.copy AS dir, row_number() OVER (PARTITION BY o.copy ORDER BY t.n) = 1 AS first
              FROM t
              JOIN o ON o.ino = t.ino
              LEFT JOIN o p ON p.ino = t.parent
             ORDER BY t.n) x;

    INSERT INTO pgbox.dirent (layer_id, parent_ino, name, ino)
    SELECT p_sandbox.layers[1], u.dir, u.name, u.ino
      FROM unnest(v_dir[2:], v_name[2:], ino[2:]) AS u (dir, name, ino)
     ORDER BY u.dir, u.name COLLATE "C";
    PERFORM pgbox.set_name(p_sandbox.layers, p_dir, p_name, p_sandbox.next_ino);
    INSERT INTO pgbox.inode SELECT u.* FROM unnest(v_inode) AS u;
    PERFORM pgbox.copy_chunks(p_sandbox.layers, v_old, v_new);
END
$$;

COMMENT ON FUNCTION pgbox.copy_tree(pgbox.sandbox, bigint, bigint, text, text, bigint) IS
    'Copies an inode and everything below it to a new name, whose path is p_path, with set-based statements. Returns what it made, for the journal (the inode itself first, then the rest from top to bottom; hashes only with a journal), and what that adds to the usage. The new numbers begin at next_ino, which the inode itself gets.';
