-- Reads what the layers hold that only one of the two chains has, never a whole tree: hence no sequential scans.
CREATE FUNCTION pgbox.compare(p_from uuid[], p_to uuid[], p_same boolean) RETURNS TABLE (
    path      text,
    status    text,
    kind      smallint,
    ino       bigint,
    path_from text,
    ino_from  bigint
)
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off
    SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    v_common uuid[] := ARRAY(SELECT unnest(p_from) INTERSECT SELECT unnest(p_to));
    v_apart  uuid[] := ARRAY(SELECT u.id FROM unnest(p_from || p_to) AS u (id) WHERE u.id <> ALL (v_common));
    v_shared bigint := 9223372036854775807;
BEGIN
    IF cardinality(v_apart) = 0 THEN
        RETURN;
    END IF;
    IF NOT p_same THEN
        -- Each side numbers its new files by itself: a number means one file only as far as both have it from the same layer.
        v_shared := (SELECT coalesce(max(m.ino), 0)
                       FROM unnest(v_common) AS u (id)
                      CROSS JOIN LATERAL (SELECT i.ino FROM pgbox.inode i WHERE i.layer_id = u.id ORDER BY i.ino DESC LIMIT 1) m);
    END IF;

    RETURN QUERY
    WITH name AS MATERIALIZED (
        SELECT DISTINCT d.parent_ino, d.name FROM pgbox.dirent d WHERE d.layer_id = ANY (v_apart)
    ), pair AS MATERIALIZED (
        SELECT n.parent_ino, n.name, o.ino AS old_ino, w.ino AS new_ino
          FROM name n
          LEFT JOIN LATERAL (
               SELECT d.ino FROM pgbox.dirent d
                WHERE d.layer_id = ANY (p_from) AND d.parent_ino = n.parent_ino AND d.name = n.name
                ORDER BY array_position(p_from, d.layer_id) LIMIT 1) o ON true
          LEFT JOIN LATERAL (
               SELECT d.ino FROM pgbox.dirent d
                WHERE d.layer_id = ANY (p_to) AND d.parent_ino = n.parent_ino AND d.name = n.name
                ORDER BY array_position(p_to, d.layer_id) LIMIT 1) w ON true
         WHERE o.ino IS DISTINCT FROM w.ino OR o.ino > v_shared OR n.parent_ino > v_shared
    ), old_dir AS MATERIALIZED (
        SELECT d.* FROM pgbox.dir_paths(p_from, ARRAY(SELECT p.parent_ino FROM pair p WHERE p.old_ino IS NOT NULL)) d
    ), new_dir AS MATERIALIZED (
        SELECT d.* FROM pgbox.dir_paths(p_to, ARRAY(SELECT p.parent_ino FROM pair p WHERE p.new_ino IS NOT NULL)) d
    ), old_name AS MATERIALIZED (
        SELECT d.path || '/' || p.name AS path, p.old_ino AS ino,
               CASE WHEN p.parent_ino <= v_shared AND p.new_ino IS NOT NULL THEN p.parent_ino || '/' || p.name END AS key
          FROM pair p JOIN old_dir d ON d.ino = p.parent_ino
         WHERE p.old_ino IS NOT NULL
    ), new_name AS MATERIALIZED (
        SELECT d.path || '/' || p.name AS path, p.new_ino AS ino,
               CASE WHEN p.parent_ino <= v_shared AND p.old_ino IS NOT NULL THEN p.parent_ino || '/' || p.name END AS key
          FROM pair p JOIN new_dir d ON d.ino = p.parent_ino
         WHERE p.new_ino IS NOT NULL
    ), touched AS MATERIALIZED (
        SELECT u.ino
          FROM (SELECT i.ino FROM pgbox.inode i WHERE i.layer_id = ANY (v_apart)
                UNION
                SELECT c.ino FROM pgbox.chunk c WHERE c.layer_id = ANY (v_apart)) u
         WHERE u.ino <= v_shared
    ), old_look AS MATERIALIZED (
        SELECT d.* FROM pgbox.describe_inodes(p_from, ARRAY(
            SELECT n.ino FROM old_name n UNION SELECT t.ino FROM touched t)) d
    ), new_look AS MATERIALIZED (
        SELECT d.* FROM pgbox.describe_inodes(p_to, ARRAY(
            SELECT n.ino FROM new_name n UNION SELECT t.ino FROM touched t)) d
    ), moved_dir AS MATERIALIZED (
        -- A directory takes what is in it along, so it is followed whatever has its old name now.
        SELECT o.path AS old_path, n.path AS new_path, o.ino
          FROM old_name o
          JOIN old_look k ON k.ino = o.ino AND k.kind = pgbox.kind('dir')
          JOIN new_name n ON n.ino = o.ino
         WHERE o.ino <= v_shared
    ), matched AS MATERIALIZED (
        -- by directory and name, also where the directory was renamed; else by path
        SELECT o.path AS old_path, o.ino AS old_ino, n.path AS new_path, n.ino AS new_ino
          FROM (SELECT e.* FROM old_name e WHERE NOT EXISTS (SELECT FROM moved_dir g WHERE g.old_path = e.path)) o
          FULL JOIN (SELECT e.* FROM new_name e WHERE NOT EXISTS (SELECT FROM moved_dir g WHERE g.new_path = e.path)) n
            ON coalesce(n.key, n.path) = coalesce(o.key, o.path)
    ), renamed AS MATERIALIZED (
        SELECT o.old_path, n.new_path, n.new_ino AS ino
          FROM (SELECT m.*, row_number() OVER (PARTITION BY m.old_ino ORDER BY m.old_path) AS nth FROM matched m WHERE m.new_ino IS NULL) o
          JOIN (SELECT m.*, row_number() OVER (PARTITION BY m.new_ino ORDER BY m.new_path) AS nth FROM matched m WHERE m.old_ino IS NULL) n
            ON n.new_ino = o.old_ino AND n.nth = o.nth
         WHERE o.old_ino <= v_shared
        UNION ALL
        SELECT g.old_path, g.new_path, g.ino FROM moved_dir g
    ), changed AS MATERIALIZED (
        SELECT t.ino FROM touched t
          JOIN old_look o ON o.ino = t.ino
          JOIN new_look n ON n.ino = t.ino
         WHERE o.looks <> n.looks
    ), was AS MATERIALIZED (
        SELECT d.* FROM pgbox.dir_paths(p_from, ARRAY(SELECT g.ino FROM changed g)) d
    )
    SELECT * FROM (
        SELECT r.new_path AS path, 'R' AS status, n.kind, r.ino, r.old_path AS path_from, r.ino AS ino_from
          FROM renamed r
          JOIN new_look n ON n.ino = r.ino
        UNION ALL
        SELECT coalesce(m.new_path, m.old_path),
               CASE WHEN m.old_ino IS NULL THEN 'A'
                    WHEN m.new_ino IS NULL THEN 'D'
                    WHEN o.kind <> n.kind THEN 'T'
                    ELSE 'M' END,
               coalesce(n.kind, o.kind),
               coalesce(m.new_ino, m.old_ino),
               CASE WHEN m.old_path <> m.new_path THEN m.old_path ELSE '' END,
               coalesce(m.old_ino, 0)
          FROM matched m
          LEFT JOIN old_look o ON o.ino = m.old_ino
          LEFT JOIN new_look n ON n.ino = m.new_ino
         WHERE (m.old_ino IS NULL OR m.new_ino IS NULL OR o.looks <> n.looks)
           AND NOT EXISTS (SELECT FROM renamed g WHERE m.new_ino IS NULL AND g.old_path = m.old_path)
           AND NOT EXISTS (SELECT FROM renamed g WHERE m.old_ino IS NULL AND g.new_path = m.new_path)
        UNION ALL
        -- what kept its name and changed itself
        SELECT CASE p.path WHEN '' THEN '/' ELSE p.path END, CASE WHEN o.kind <> n.kind THEN 'T' ELSE 'M' END, n.kind, c.ino,
               coalesce((SELECT nullif(coalesce(max(q.path) FILTER (WHERE q.path = p.path), min(q.path)), p.path) FROM was q WHERE q.ino = c.ino), ''), c.ino
          FROM changed c
          JOIN old_look o ON o.ino = c.ino
          JOIN new_look n ON n.ino = c.ino
          JOIN pgbox.dir_paths(p_to, ARRAY(SELECT g.ino FROM changed g)) p ON p.ino = c.ino
         WHERE NOT EXISTS (SELECT FROM new_name m WHERE m.path = p.path)
    ) x
     ORDER BY x.path COLLATE "C";
END
$$;

COMMENT ON FUNCTION pgbox.compare(uuid[], uuid[], boolean) IS
    'What differs between two chains of layers: kind, mode, owner, target and content, but not times. p_same: both chains are of one line, so an inode number means the same file in both. The columns are those of fs.diff().';
