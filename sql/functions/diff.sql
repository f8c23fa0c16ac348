CREATE FUNCTION fs.diff(p_sandbox uuid, p_from uuid DEFAULT NULL) RETURNS TABLE (
    path      text,
    status    text,
    kind      smallint,
    ino       bigint,
    path_from text
)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    v_to       fs.fence;
    v_from     uuid[];
    v_common   uuid[];
    v_changed  bigint[];
    v_ancestor boolean;
BEGIN
    SELECT f.* INTO v_to FROM fs.fence f WHERE f.id = p_sandbox;
    IF v_to.id IS NULL THEN
        PERFORM pgbox.raise_errno(3, 'diff', p_sandbox::text);
    END IF;
    IF p_from IS NULL THEN
        v_from := v_to.layers[cardinality(v_to.layers):];
    ELSE
        SELECT n.layers INTO v_from FROM pgbox.snapshot n WHERE n.id = p_from AND n.sandbox_id = p_sandbox;
        IF v_from IS NULL THEN
            SELECT f.layers INTO v_from FROM fs.fence f
             WHERE f.id = p_from AND f.tenant = v_to.tenant AND f.owner = v_to.owner;
        END IF;
        IF v_from IS NULL THEN
            PERFORM pgbox.raise_errno(2, 'diff', p_from::text);
        END IF;
    END IF;

    v_common := ARRAY(SELECT unnest(v_from) INTERSECT SELECT unnest(v_to.layers));
    -- Over an ancestor an inode number means one file, so names are followed by it: a renamed
    -- directory is one line. Siblings number their files independently, so only paths compare.
    v_ancestor := v_from <@ v_common;
    v_changed := ARRAY(
        SELECT r.ino FROM pgbox.inode r
         WHERE r.layer_id = ANY (v_from || v_to.layers) AND r.layer_id <> ALL (v_common)
        UNION
        SELECT r.ino FROM pgbox.chunk r
         WHERE r.layer_id = ANY (v_from || v_to.layers) AND r.layer_id <> ALL (v_common));
    IF cardinality(v_changed) = 0 AND NOT EXISTS (
        SELECT FROM pgbox.dirent r WHERE r.layer_id = ANY (v_from || v_to.layers) AND r.layer_id <> ALL (v_common)) THEN
        RETURN;
    END IF;

    RETURN QUERY
    WITH old AS MATERIALIZED (
        SELECT w.*, CASE WHEN v_ancestor THEN w.parent_ino || '/' || w.name ELSE w.path END AS key FROM pgbox.walk_tree(v_from) w
    ), new AS MATERIALIZED (
        SELECT w.*, CASE WHEN v_ancestor THEN w.parent_ino || '/' || w.name ELSE w.path END AS key FROM pgbox.walk_tree(v_to.layers) w
    ), pair AS MATERIALIZED (
        SELECT o.path AS old_path, o.ino AS old_ino, n.path AS new_path, n.ino AS new_ino
          FROM old o
          FULL JOIN new n ON n.key = o.key
         WHERE o.ino IS DISTINCT FROM n.ino OR n.ino = ANY (v_changed)
    ), old_look AS MATERIALIZED (
        SELECT d.* FROM pgbox.describe_inodes(v_from, ARRAY(SELECT p.old_ino FROM pair p WHERE p.old_ino IS NOT NULL)) d
    ), new_look AS MATERIALIZED (
        SELECT d.* FROM pgbox.describe_inodes(v_to.layers, ARRAY(SELECT p.new_ino FROM pair p WHERE p.new_ino IS NOT NULL)) d
    ), moved AS MATERIALIZED (
        SELECT o.old_path, n.new_path
          FROM (SELECT p.*, row_number() OVER (PARTITION BY p.old_ino ORDER BY p.old_path) AS nth FROM pair p WHERE p.new_ino IS NULL) o
          JOIN (SELECT p.*, row_number() OVER (PARTITION BY p.new_ino ORDER BY p.new_path) AS nth FROM pair p WHERE p.old_ino IS NULL) n
            ON n.new_ino = o.old_ino AND n.nth = o.nth
         WHERE v_ancestor
    )
    SELECT coalesce(p.new_path, p.old_path),
           CASE WHEN m.new_path IS NOT NULL THEN 'R'
                WHEN p.old_ino IS NULL THEN 'A'
                WHEN p.new_ino IS NULL THEN 'D'
                WHEN o.kind <> n.kind THEN 'T'
                ELSE 'M' END,
           coalesce(n.kind, o.kind),
           coalesce(p.new_ino, p.old_ino),
           coalesce(m.old_path, '')
      FROM pair p
      LEFT JOIN old_look o ON o.ino = p.old_ino
      LEFT JOIN new_look n ON n.ino = p.new_ino
      LEFT JOIN moved m ON m.new_path = p.new_path
     WHERE (p.old_ino IS NULL OR p.new_ino IS NULL OR o.looks IS DISTINCT FROM n.looks)
       AND NOT EXISTS (SELECT FROM moved g WHERE p.new_ino IS NULL AND g.old_path = p.old_path)
     ORDER BY 1;
END
$$;

ALTER FUNCTION fs.diff(uuid, uuid) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION fs.diff(uuid, uuid) IS
    'What changed in a sandbox since one of its snapshots, against another sandbox of the same owner, or (NULL) since the base layer: paths added A, deleted D, renamed R (from path_from), of another kind T, otherwise modified M. Under a renamed directory only what changed itself is listed.';
