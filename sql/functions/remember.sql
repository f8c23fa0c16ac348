CREATE FUNCTION fs.remember(p_tenant text, p_owner text, p_key text, p_digest bytea, p_result bytea) RETURNS void
    LANGUAGE sql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    INSERT INTO pgbox.idempotency (tenant, owner, key, digest, result) VALUES (p_tenant, p_owner, p_key, p_digest, p_result);
END;

ALTER FUNCTION fs.remember(text, text, text, bytea, bytea) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION fs.remember(text, text, text, bytea, bytea) IS
    'Keeps the answer to a request under its idempotency key, in the transaction of what the request changed. It violates idempotency_pkey when the key has been used: then nothing of the transaction is applied.';
