CREATE FUNCTION fs.utimes(p_path text, p_mtime bigint, p_follow boolean DEFAULT true) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off
    SET jit = off
    SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    PERFORM pgbox.set_attr('utimes', p_path, coalesce(p_follow, true), NULL, NULL, NULL, coalesce(p_mtime, pgbox.now_ns()));
END
$$;

COMMENT ON FUNCTION fs.utimes(text, bigint, boolean) IS
    'Sets the modification time, in nanoseconds since the epoch; NULL is now.';
