-- One row by primary key and nothing else, so it runs as the maintainer: the scope and its row policy cost
-- a fifth of the read that every exec begins with.
CREATE FUNCTION fs.fence(p_sandbox uuid) RETURNS SETOF fs.fence
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_fence fs.fence;
BEGIN
    SELECT f.* INTO v_fence FROM fs.fence f WHERE f.id = p_sandbox;
    IF v_fence.id IS NULL THEN
        PERFORM pgbox.raise_errno('ESRCH', 'fence', p_sandbox::text);
    END IF;
    RETURN NEXT v_fence;
END
$$;

ALTER FUNCTION fs.fence(uuid) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION fs.fence(uuid) IS
    'What a run must know before it starts: owner, limits, shell state, layers and version of a sandbox, as last committed. ESRCH when it is missing, dropped or expired.';
