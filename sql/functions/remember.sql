CREATE FUNCTION fs.remember(p_tenant text, p_owner text, p_key text, p_digest bytea, p_result bytea) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM pgbox.need(p_tenant IS NOT NULL, 'remember', 'p_tenant'), pgbox.need(p_owner IS NOT NULL, 'remember', 'p_owner'),
            pgbox.need(p_key IS NOT NULL, 'remember', 'p_key'), pgbox.need(octet_length(p_digest) = 32, 'remember', 'p_digest'),
            pgbox.need(p_result IS NOT NULL, 'remember', 'p_result');
    INSERT INTO pgbox.idempotency (tenant, owner, key, digest, result) VALUES (p_tenant, p_owner, p_key, p_digest, p_result);
END
$$;

ALTER FUNCTION fs.remember(text, text, text, bytea, bytea) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION fs.remember(text, text, text, bytea, bytea) IS
    'Keeps the answer to a request under its idempotency key, in the transaction of what the request changed. A key that was used before violates idempotency_pkey, and nothing of the transaction is applied.';
