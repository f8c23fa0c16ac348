CREATE FUNCTION fs.flatten(p_sandbox uuid) RETURNS integer
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_sandbox pgbox.sandbox := pgbox.lock_sandbox(p_sandbox);
    v_depth   integer := cardinality(v_sandbox.layers);
BEGIN
    IF v_depth > 2 THEN
        UPDATE pgbox.sandbox s
           SET layers = pgbox.merge_layers(v_sandbox.layers, v_depth - 1), version = s.version + 1,
               -- What can be redone stays so.
               undone_version = CASE WHEN s.undone_version = s.version THEN s.version + 1 ELSE s.undone_version END
         WHERE s.id = p_sandbox;
        PERFORM pgbox.free_layers(v_sandbox.layers);
    END IF;
    PERFORM pgbox.log_verb(p_sandbox, v_sandbox.tenant, 'flatten', v_sandbox.version, v_sandbox.version + (v_depth > 2)::integer);
    RETURN v_depth;
END
$$;

ALTER FUNCTION fs.flatten(uuid) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION fs.flatten(uuid) IS
    'Merges the layers of a sandbox into one over the base layer, and returns how many there were. Snapshots and forks keep their layers.';
