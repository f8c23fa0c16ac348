CREATE FUNCTION pgbox.chunk_at(p_layers uuid[], p_ino bigint, p_idx integer) RETURNS bytea
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_sha  bytea;
    v_data bytea;
BEGIN
    SELECT c.sha256 INTO v_sha
      FROM pgbox.chunk c
     WHERE c.layer_id = ANY (p_layers) AND c.ino = p_ino AND c.idx = p_idx
     ORDER BY array_position(p_layers, c.layer_id)
     LIMIT 1;
    IF v_sha IS NULL THEN
        RETURN NULL;
    END IF;
    SELECT pgbox.whole(b.base, b.data) INTO v_data FROM pgbox.blob b WHERE b.sha256 = v_sha;
    IF v_data IS NULL THEN
        PERFORM pgbox.raise_errno('EIO', 'read', encode(v_sha, 'hex'));
    END IF;
    RETURN v_data;
END
$$;

COMMENT ON FUNCTION pgbox.chunk_at(uuid[], bigint, integer) IS
    'The content of one chunk, NULL for a hole.';
