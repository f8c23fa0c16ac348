CREATE FUNCTION pgbox.content_of(p_layers uuid[], p_ino bigint, p_size bigint, p_offset bigint, p_length bigint) RETURNS bytea
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_end  bigint := least(p_size, least(p_offset, p_size) + least(p_length, p_size));
    v_lost bytea;
    v_data bytea;
BEGIN
    IF v_end <= p_offset THEN
        RETURN '';
    END IF;
    -- What does not fit into one value: 1 GiB less its header.
    IF v_end - p_offset > 1073676288 THEN
        PERFORM pgbox.raise_errno('EFBIG', 'read', NULL);
    END IF;
    SELECT string_agg(
               CASE WHEN e.sha256 IS NULL THEN pgbox.zeros(r.stop - r.start)
                    ELSE substring(b.data FROM r.start + 1 FOR r.stop - r.start) END,
               '' ORDER BY g.idx),
           (array_agg(e.sha256) FILTER (WHERE e.sha256 IS NOT NULL AND b.data IS NULL))[1]
      INTO v_data, v_lost
      FROM generate_series((p_offset / pgbox.chunk_size())::integer, ((v_end - 1) / pgbox.chunk_size())::integer) AS g (idx)
     CROSS JOIN LATERAL (SELECT greatest(p_offset - g.idx * pgbox.chunk_size()::bigint, 0)::integer AS start,
                                least(v_end - g.idx * pgbox.chunk_size()::bigint, pgbox.chunk_size())::integer AS stop) r
      LEFT JOIN (SELECT DISTINCT ON (c.idx) c.idx, c.sha256
                   FROM pgbox.chunk c
                  WHERE c.layer_id = ANY (p_layers) AND c.ino = p_ino
                    AND c.idx BETWEEN (p_offset / pgbox.chunk_size())::integer AND ((v_end - 1) / pgbox.chunk_size())::integer
                  ORDER BY c.idx, array_position(p_layers, c.layer_id)) e ON e.idx = g.idx
      LEFT JOIN LATERAL (SELECT CASE WHEN o.base IS NULL THEN o.data ELSE pgbox.whole(o.base, o.data) END AS data
                           FROM pgbox.blob o WHERE o.sha256 = e.sha256) b ON true;
    IF v_lost IS NOT NULL THEN
        PERFORM pgbox.raise_errno('EIO', 'read', encode(v_lost, 'hex'));
    END IF;
    RETURN v_data;
END
$$;

COMMENT ON FUNCTION pgbox.content_of(uuid[], bigint, bigint, bigint, bigint) IS
    'Up to p_length bytes, from p_offset on, of a file of p_size bytes. Holes read as NUL bytes.';
