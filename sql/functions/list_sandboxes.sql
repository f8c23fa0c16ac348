CREATE FUNCTION fs.list_sandboxes(
    p_tenant           text,
    p_owner            text,
    p_limit            integer     DEFAULT 100,
    p_after_created_at timestamptz DEFAULT NULL,
    p_after_id         uuid        DEFAULT NULL,
    p_name             text        DEFAULT NULL,
    p_labels           jsonb       DEFAULT NULL
) RETURNS SETOF fs.sandbox
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM pgbox.need_limit(p_limit, 'list_sandboxes');
    RETURN QUERY
    SELECT v.* FROM fs.sandbox v
     WHERE v.tenant = p_tenant AND v.owner = p_owner AND v.deleted_at IS NULL
       AND (v.expires_at IS NULL OR v.expires_at > clock_timestamp())
       AND (v.created_at, v.id) < (coalesce(p_after_created_at, 'infinity'), coalesce(p_after_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
       AND (p_name IS NULL OR v.name = p_name)
       AND (p_labels IS NULL OR v.labels @> p_labels)
     ORDER BY v.created_at DESC, v.id DESC
     LIMIT p_limit;
END
$$;

ALTER FUNCTION fs.list_sandboxes(text, text, integer, timestamptz, uuid, text, jsonb) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION fs.list_sandboxes(text, text, integer, timestamptz, uuid, text, jsonb) IS
    'The living sandboxes of one owner, newest first, after the given one; optionally only those with a name or with certain labels.';
