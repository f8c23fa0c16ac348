CREATE FUNCTION pgbox.enforce_snapshot_quota() RETURNS trigger
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_sandbox pgbox.sandbox;
    v_quota   pgbox.quota;
BEGIN
    SELECT s.* INTO v_sandbox FROM pgbox.sandbox s WHERE s.id = NEW.sandbox_id;
    IF (SELECT count(*) FROM pgbox.snapshot n WHERE n.sandbox_id = NEW.sandbox_id) > v_sandbox.max_snapshots THEN
        PERFORM pgbox.raise_errno('EDQUOT', 'snapshot', NEW.sandbox_id::text);
    END IF;
    FOR v_quota IN
        SELECT q.* FROM pgbox.quota q
         WHERE q.tenant = v_sandbox.tenant AND q.owner IN ('', v_sandbox.owner) AND q.max_snapshots IS NOT NULL
         ORDER BY q.owner
           FOR NO KEY UPDATE
    LOOP
        IF (SELECT count(*)
              FROM pgbox.snapshot n
              JOIN pgbox.sandbox s ON s.id = n.sandbox_id
             WHERE s.tenant = v_sandbox.tenant AND (v_quota.owner = '' OR s.owner = v_quota.owner)) > v_quota.max_snapshots THEN
            PERFORM pgbox.raise_errno('EDQUOT', 'snapshot', NEW.sandbox_id::text);
        END IF;
    END LOOP;
    RETURN NULL;
END
$$;

ALTER FUNCTION pgbox.enforce_snapshot_quota() OWNER TO pgbox_maintainer;

CREATE TRIGGER snapshot_quota AFTER INSERT ON pgbox.snapshot FOR EACH ROW EXECUTE FUNCTION pgbox.enforce_snapshot_quota();

COMMENT ON FUNCTION pgbox.enforce_snapshot_quota() IS
    'Raises EDQUOT for one snapshot more than the sandbox (max_snapshots), its owner or its tenant may have.';
