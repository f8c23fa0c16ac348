CREATE FUNCTION fs.changes_since(p_sandbox uuid, p_version bigint DEFAULT 0, p_seq integer DEFAULT 2147483647, p_limit integer DEFAULT 1000) RETURNS SETOF fs.change
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM pgbox.enter_sandbox_read(p_sandbox);
    PERFORM pgbox.need_limit(p_limit, 'changes_since');
    RETURN QUERY
        SELECT v.* FROM fs.change v
         WHERE v.sandbox_id = p_sandbox AND (v.version, v.seq) > (p_version, p_seq)
         ORDER BY v.version, v.seq
         LIMIT p_limit;
END
$$;

COMMENT ON FUNCTION fs.changes_since(uuid, bigint, integer, integer) IS
    'The journal of a sandbox, oldest first: what came after operation p_seq of version p_version (without p_seq: after that version), at most p_limit rows. exec_id is NULL for what was done in SQL.';
