CREATE FUNCTION pgbox.need_history(p_history jsonb, p_op text) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF p_history IS NULL THEN
        RETURN;
    END IF;
    PERFORM pgbox.need_type(p_history->>k.key, 'integer', p_op, 'p_history.' || k.key) FROM unnest(ARRAY['commits', 'seconds', 'keep']) AS k (key);
    PERFORM pgbox.need(coalesce((p_history->>'commits')::integer > 0, true), p_op, 'p_history.commits'),
            pgbox.need(coalesce((p_history->>'seconds')::integer >= 0, true), p_op, 'p_history.seconds'),
            pgbox.need(coalesce((p_history->>'keep')::integer BETWEEN 1 AND 10000, true), p_op, 'p_history.keep');
END
$$;

COMMENT ON FUNCTION pgbox.need_history(jsonb, text) IS
    'Raises EINVAL for an object that does not say when commits take automatic snapshots.';
