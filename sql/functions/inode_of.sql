CREATE FUNCTION pgbox.inode_of(p_layers uuid[], p_ino bigint) RETURNS pgbox.inode
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_row pgbox.inode;
BEGIN
    SELECT i.* INTO v_row
      FROM pgbox.inode i
     WHERE i.layer_id = ANY (p_layers) AND i.ino = p_ino
     ORDER BY array_position(p_layers, i.layer_id)
     LIMIT 1;
    IF v_row.kind = pgbox.kind('whiteout') THEN
        RETURN NULL;
    END IF;
    RETURN v_row;
END
$$;
COMMENT ON FUNCTION pgbox.inode_of(uuid[], bigint) IS 'The effective inode row over a chain of layers (newest first); all NULL when there is none.';
