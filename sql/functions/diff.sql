CREATE FUNCTION fs.diff(
    p_sandbox uuid,
    p_at      text DEFAULT NULL,
    p_from    uuid DEFAULT NULL,
    p_from_at text DEFAULT '@base'
) RETURNS TABLE (
    path      text,
    status    text,
    kind      smallint,
    ino       bigint,
    path_from text,
    ino_from  bigint
)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_to   pgbox.sandbox;
    v_from pgbox.sandbox;
BEGIN
    SELECT s.* INTO v_to FROM pgbox.sandbox s JOIN fs.fence f ON f.id = s.id WHERE s.id = p_sandbox;
    IF v_to.id IS NULL THEN
        PERFORM pgbox.raise_errno('ESRCH', 'diff', p_sandbox::text);
    END IF;
    v_from := v_to;
    IF p_from <> p_sandbox THEN
        SELECT s.* INTO v_from FROM pgbox.sandbox s JOIN fs.fence f ON f.id = s.id
         WHERE s.id = p_from AND s.tenant = v_to.tenant AND s.owner = v_to.owner;
        IF v_from.id IS NULL THEN
            PERFORM pgbox.raise_errno('ENOENT', 'diff', p_from::text);
        END IF;
    END IF;
    RETURN QUERY
    SELECT c.* FROM pgbox.compare((pgbox.state_at(v_from, p_from_at)).layers, (pgbox.state_at(v_to, p_at)).layers, v_from.id = v_to.id) c;
END
$$;

ALTER FUNCTION fs.diff(uuid, text, uuid, text) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION fs.diff(uuid, text, uuid, text) IS
    'What changed in a sandbox since it was made (@base), since another of its states, or against a state of another sandbox of the same owner (states as in pgbox.state_at). The status of a path is A added, D deleted, R renamed (from path_from), T its kind changed, M modified (content, mode or owner). Under a renamed directory only what itself changed is listed. The cost is that of the changes, whatever the size of the trees.';
