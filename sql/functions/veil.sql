CREATE FUNCTION pgbox.veil(p_fault fs.fault, p_told boolean) RETURNS fs.fault
    LANGUAGE sql IMMUTABLE
    SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN p_told THEN p_fault
                ELSE ROW (NULL, (p_fault).check_name, NULL, 'where is told to members of pgbox_auditor', NULL, NULL, NULL, NULL)::fs.fault END
$$;

ALTER FUNCTION pgbox.veil(fs.fault, boolean) OWNER TO pgbox_owner;

COMMENT ON FUNCTION pgbox.veil(fs.fault, boolean) IS
    'A fault in full for a caller who may know of all sandboxes, otherwise only the name of the broken invariant.';
