CREATE FUNCTION fs.update_sandbox(
    p_sandbox    uuid,
    p_name       text,
    p_env        jsonb,
    p_labels     jsonb,
    p_max_bytes  bigint,
    p_max_inodes bigint,
    p_expires_at timestamptz,
    p_clear      text[] DEFAULT '{}'
) RETURNS SETOF fs.sandbox
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM pgbox.enter_sandbox(p_sandbox);
    UPDATE pgbox.sandbox s
       SET name       = coalesce(p_name, s.name),
           env        = coalesce(p_env, s.env),
           labels     = coalesce(p_labels, s.labels),
           max_bytes  = CASE WHEN 'max_bytes' = ANY (p_clear) THEN NULL ELSE coalesce(p_max_bytes, s.max_bytes) END,
           max_inodes = CASE WHEN 'max_inodes' = ANY (p_clear) THEN NULL ELSE coalesce(p_max_inodes, s.max_inodes) END,
           expires_at = CASE WHEN 'expires_at' = ANY (p_clear) THEN NULL ELSE coalesce(p_expires_at, s.expires_at) END
     WHERE s.id = p_sandbox;
    RETURN QUERY SELECT v.* FROM fs.sandbox v WHERE v.id = p_sandbox;
END
$$;

COMMENT ON FUNCTION fs.update_sandbox(uuid, text, jsonb, jsonb, bigint, bigint, timestamptz, text[]) IS
    'Changes the settings of a sandbox; NULL leaves one as it is, p_clear names those to remove (max_bytes, max_inodes, expires_at). The tree and its version stay.';
