CREATE FUNCTION pgbox.describe_inodes(p_layers uuid[], p_inos bigint[]) RETURNS TABLE (ino bigint, kind smallint, looks text)
    LANGUAGE sql STABLE
    SET search_path = pg_catalog, pg_temp
AS $$
    SELECT i.ino, i.kind,
           -- Times and, of directories, link counts change with what is compared itself.
           concat_ws('|', i.kind, i.mode, i.uid, i.gid, i.rdev, i.target,
                     CASE WHEN i.kind <> 4 THEN i.size END, c.content)
      FROM (SELECT DISTINCT ON (r.ino) r.*
              FROM pgbox.inode r
             WHERE r.layer_id = ANY (p_layers) AND r.ino = ANY (p_inos)
             ORDER BY r.ino, array_position(p_layers, r.layer_id)) i
      LEFT JOIN (
            SELECT k.ino, string_agg(k.idx || ':' || encode(k.sha256, 'hex'), ',' ORDER BY k.idx) AS content
              FROM (SELECT DISTINCT ON (r.ino, r.idx) r.*
                      FROM pgbox.chunk r
                     WHERE r.layer_id = ANY (p_layers) AND r.ino = ANY (p_inos)
                     ORDER BY r.ino, r.idx, array_position(p_layers, r.layer_id)) k
             WHERE k.sha256 IS NOT NULL
             GROUP BY k.ino) c ON c.ino = i.ino
     WHERE i.kind <> 0
$$;

COMMENT ON FUNCTION pgbox.describe_inodes(uuid[], bigint[]) IS
    'Kind and a text that is equal for equal attributes and content, of the given inodes over a chain of layers.';
