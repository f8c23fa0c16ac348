CREATE FUNCTION fs.quota(p_tenant text, p_owner text) RETURNS SETOF fs.quotas
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT p_tenant, w.owner, u.sandboxes, q.max_sandboxes, u.used_bytes, q.max_bytes, u.used_inodes, q.max_inodes, u.snapshots, q.max_snapshots
      FROM (VALUES ('', 1), (p_owner, 2)) AS w (owner, n)
      LEFT JOIN pgbox.quota q ON q.tenant = p_tenant AND q.owner = w.owner
     CROSS JOIN LATERAL (
           SELECT coalesce(sum(o.sandboxes), 0)::bigint AS sandboxes, coalesce(sum(o.used_bytes), 0)::bigint AS used_bytes,
                  coalesce(sum(o.used_inodes), 0)::bigint AS used_inodes, coalesce(sum(o.snapshots), 0)::bigint AS snapshots
             FROM fs.owners o
            WHERE o.tenant = p_tenant AND (w.owner = '' OR o.owner = w.owner)) u
     WHERE w.n = 1 OR p_owner <> ''
     ORDER BY w.n;
END
$$;

ALTER FUNCTION fs.quota(text, text) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION fs.quota(text, text) IS
    'What a tenant (the row with an empty owner) and one of its owners (empty: no second row) hold and may hold. A NULL limit is no limit.';
