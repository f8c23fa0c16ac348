CREATE FUNCTION fs.set_quota(
    p_tenant        text,
    p_owner         text   DEFAULT '',
    p_max_bytes     bigint DEFAULT NULL,
    p_max_inodes    bigint DEFAULT NULL,
    p_max_snapshots bigint DEFAULT NULL,
    p_max_sandboxes bigint DEFAULT NULL
) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM pgbox.need(p_tenant IS NOT NULL, 'set_quota', 'p_tenant'), pgbox.need(p_owner IS NOT NULL, 'set_quota', 'p_owner'),
            pgbox.need(coalesce(p_max_bytes >= 0, true), 'set_quota', 'p_max_bytes'),
            pgbox.need(coalesce(p_max_inodes >= 0, true), 'set_quota', 'p_max_inodes'),
            pgbox.need(coalesce(p_max_snapshots >= 0, true), 'set_quota', 'p_max_snapshots'),
            pgbox.need(coalesce(p_max_sandboxes >= 0, true), 'set_quota', 'p_max_sandboxes');
    PERFORM pgbox.log_verb('00000000-0000-0000-0000-000000000000', p_tenant, rtrim('quota set ' || p_owner), 0, 0);
    IF coalesce(p_max_bytes, p_max_inodes, p_max_snapshots, p_max_sandboxes) IS NULL THEN
        DELETE FROM pgbox.quota q WHERE q.tenant = p_tenant AND q.owner = p_owner;
        RETURN;
    END IF;
    INSERT INTO pgbox.quota (tenant, owner, max_bytes, max_inodes, max_snapshots, max_sandboxes)
    VALUES (p_tenant, p_owner, p_max_bytes, p_max_inodes, p_max_snapshots, p_max_sandboxes)
    ON CONFLICT ON CONSTRAINT quota_pkey DO UPDATE
    SET max_bytes = excluded.max_bytes, max_inodes = excluded.max_inodes, max_snapshots = excluded.max_snapshots, max_sandboxes = excluded.max_sandboxes;
END
$$;

ALTER FUNCTION fs.set_quota(text, text, bigint, bigint, bigint, bigint) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION fs.set_quota(text, text, bigint, bigint, bigint, bigint) IS
    'Sets what all sandboxes of an owner together, or of a tenant (owner ''''), may hold; NULL is no limit. Nothing that exists is removed.';
