CREATE FUNCTION fs.recall(p_tenant text, p_owner text, p_keys text[]) RETURNS TABLE (key text, digest bytea, result bytea)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT i.key, i.digest, i.result
      FROM pgbox.idempotency i
     WHERE i.tenant = p_tenant AND i.owner = p_owner AND i.key = ANY (p_keys);
END;

ALTER FUNCTION fs.recall(text, text, text[]) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION fs.recall(text, text, text[]) IS
    'The answers kept under idempotency keys of an owner, each with the digest of its request.';
