CREATE FUNCTION fs.chown(p_path text, p_uid integer, p_gid integer, p_follow boolean DEFAULT true) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off
    SET jit = off
    SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    PERFORM pgbox.set_attr('chown', p_path, coalesce(p_follow, true), NULL, nullif(p_uid, -1), nullif(p_gid, -1), NULL);
END
$$;

COMMENT ON FUNCTION fs.chown(text, integer, integer, boolean) IS
    'Sets owner and group; NULL or -1 leaves either as it is.';
