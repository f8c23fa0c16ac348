CREATE FUNCTION pgbox.need_exec(p_exec jsonb, p_op text) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF p_exec IS NULL THEN
        RETURN;
    END IF;
    PERFORM pgbox.need(jsonb_typeof(p_exec) = 'object', p_op, 'p_exec');
    -- What a gateway sends is looked at, not cast: each cast on trial is a subtransaction.
    PERFORM pgbox.need_type(p_exec->>k.key, k.type, p_op, 'p_exec.' || k.key)
       FROM (VALUES ('id', 'uuid'::regtype, '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'), ('exit_code', 'integer', '^-?[0-9]{1,9}$'),
                    ('started_at', 'timestamptz', '^20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?(Z|[+-]0[0-9]:[0-5][0-9])$'),
                    ('duration_us', 'bigint', '^[0-9]{1,18}$'), ('stdout_bytes', 'bigint', '^[0-9]{1,18}$'), ('stderr_bytes', 'bigint', '^[0-9]{1,18}$'),
                    ('read_only', 'boolean', '^(true|false)$')) AS k (key, type, usual)
      WHERE p_exec->>k.key !~ k.usual;
END
$$;

COMMENT ON FUNCTION pgbox.need_exec(jsonb, text) IS
    'Raises EINVAL, with the name of what is wrong, for an object that cannot be an audit row.';
