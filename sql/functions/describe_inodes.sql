CREATE FUNCTION pgbox.describe_inodes(p_layers uuid[], p_inos bigint[]) RETURNS TABLE (ino bigint, kind smallint, looks text, content text)
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    -- Times and, of directories, link counts change with what is compared itself.
    SELECT i.ino, i.kind, concat_ws('|', i.kind, i.mode, i.uid, i.gid, t.content), t.content
      FROM (SELECT DISTINCT u.ino FROM unnest(p_inos) AS u (ino)) x
     CROSS JOIN LATERAL (
           SELECT r.* FROM pgbox.inode r
            WHERE r.layer_id = ANY (p_layers) AND r.ino = x.ino
            ORDER BY array_position(p_layers, r.layer_id)
            LIMIT 1) i
     CROSS JOIN LATERAL (
           SELECT string_agg(k.idx || ':' || encode(k.sha256, 'hex'), ',' ORDER BY k.idx) AS content
             FROM (SELECT DISTINCT ON (r.idx) r.idx, r.sha256
                     FROM pgbox.chunk r
                    WHERE r.layer_id = ANY (p_layers) AND r.ino = x.ino
                    ORDER BY r.idx, array_position(p_layers, r.layer_id)) k
            WHERE k.sha256 IS NOT NULL) c
     CROSS JOIN LATERAL (SELECT concat_ws('|', i.rdev, i.target, CASE WHEN i.kind <> pgbox.kind('dir') THEN i.size END, c.content) AS content) t
     WHERE i.kind <> pgbox.kind('whiteout');
END
$$;

COMMENT ON FUNCTION pgbox.describe_inodes(uuid[], bigint[]) IS
    'Describes inodes over a chain of layers: the kind, a text that is equal when attributes and content are equal, and one that is equal when the content is (of a device its number, of a symlink its target).';
