CREATE FUNCTION pgbox.merge_verb(
    p_verb text, p_path text, p_path_to text DEFAULT NULL, p_ino bigint DEFAULT NULL,
    p_data bytea DEFAULT NULL, p_mode integer DEFAULT NULL, p_uid integer DEFAULT NULL, p_gid integer DEFAULT NULL) RETURNS fs.merge_step
    LANGUAGE plpgsql IMMUTABLE
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN ROW (p_verb, p_path, p_path_to, p_ino, p_data, p_mode, p_uid, p_gid);
END
$$;

COMMENT ON FUNCTION pgbox.merge_verb(text, text, text, bigint, bytea, integer, integer, integer) IS
    'Makes one operation of a planned merge; what the verb does not need is left out.';
