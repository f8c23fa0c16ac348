CREATE FUNCTION pgbox.count_rows(p_layer uuid) RETURNS bigint
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off
    SET jit = off
AS $$
DECLARE
    c_many constant bigint := 100000;
BEGIN
    RETURN (SELECT count(*) FROM (SELECT FROM pgbox.inode r WHERE r.layer_id = p_layer LIMIT c_many) n)
         + (SELECT count(*) FROM (SELECT FROM pgbox.dirent r WHERE r.layer_id = p_layer LIMIT c_many) n)
         + (SELECT count(*) FROM (SELECT FROM pgbox.chunk r WHERE r.layer_id = p_layer LIMIT c_many) n)
         + (SELECT count(*) FROM (SELECT FROM pgbox.kv r WHERE r.layer_id = p_layer LIMIT c_many) n);
END
$$;

ALTER FUNCTION pgbox.count_rows(uuid) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION pgbox.count_rows(uuid) IS
    'The number of rows of a layer, counted up to 100 000 of each table: a layer beyond that is large, and how large does not matter.';
