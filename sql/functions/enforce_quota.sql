-- A trigger, because nothing that makes a sandbox grow (a commit, a verb, a fork, an import) gets past it.
CREATE FUNCTION pgbox.enforce_quota() RETURNS trigger
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_quota pgbox.quota;
    v_used  record;
BEGIN
    -- The lock makes those who grow at the same time add up. Lock order: sandbox row, then the tenant's quota, then the owner's.
    FOR v_quota IN
        SELECT q.* FROM pgbox.quota q WHERE q.tenant = NEW.tenant AND q.owner IN ('', NEW.owner) ORDER BY q.owner FOR NO KEY UPDATE
    LOOP
        SELECT coalesce(sum(s.used_bytes), 0) AS bytes, coalesce(sum(s.used_inodes), 0) AS inodes, count(*) AS sandboxes INTO v_used
          FROM pgbox.sandbox s
         WHERE s.tenant = NEW.tenant AND (v_quota.owner = '' OR s.owner = v_quota.owner) AND s.deleted_at IS NULL;
        IF v_used.bytes > v_quota.max_bytes AND (TG_OP = 'INSERT' OR NEW.used_bytes > OLD.used_bytes)
           OR v_used.inodes > v_quota.max_inodes AND (TG_OP = 'INSERT' OR NEW.used_inodes > OLD.used_inodes)
           OR v_used.sandboxes > v_quota.max_sandboxes AND TG_OP = 'INSERT' THEN
            PERFORM pgbox.raise_errno('EDQUOT', 'quota', NEW.id::text);
        END IF;
    END LOOP;
    RETURN NULL;
END
$$;

ALTER FUNCTION pgbox.enforce_quota() OWNER TO pgbox_maintainer;

CREATE TRIGGER sandbox_quota_insert AFTER INSERT ON pgbox.sandbox FOR EACH ROW EXECUTE FUNCTION pgbox.enforce_quota();
CREATE TRIGGER sandbox_quota_update AFTER UPDATE OF used_bytes, used_inodes ON pgbox.sandbox FOR EACH ROW
    WHEN (NEW.used_bytes > OLD.used_bytes OR NEW.used_inodes > OLD.used_inodes) EXECUTE FUNCTION pgbox.enforce_quota();

COMMENT ON FUNCTION pgbox.enforce_quota() IS
    'Raises EDQUOT when a sandbox that is made or grows takes its owner or tenant past a limit of pgbox.quota. An owner who is over may still shrink, or change without growing.';
