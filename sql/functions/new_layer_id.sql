-- A b-tree whose entries come at its end is full to nine tenths, one whose entries come in the middle to a half: entries of the newest layer
-- come at the end. The base layer's id is a hash, hence the f.
CREATE FUNCTION pgbox.new_layer_id() RETURNS uuid
    LANGUAGE sql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $$
    SELECT ('f' || lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint), 11, '0') || '8'
            || substring(replace(gen_random_uuid()::text, '-', '') FROM 14))::uuid
$$;

COMMENT ON FUNCTION pgbox.new_layer_id() IS
    'An id for a new layer, greater than those before: the time in milliseconds and 74 random bits, as a UUID of version 8.';
