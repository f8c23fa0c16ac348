CREATE FUNCTION fs.tag_image(p_tenant text, p_owner text, p_image text, p_name text, p_tag text DEFAULT NULL) RETURNS SETOF fs.image
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_image pgbox.image := pgbox.find_image(p_tenant, p_image, 'tag_image');
    v_id    uuid;
BEGIN
    INSERT INTO pgbox.image AS i (tenant, owner, name, tag, layers, next_ino, used_bytes, used_inodes, state_sha256)
    VALUES (p_tenant, p_owner, p_name, coalesce(p_tag, 'latest'), v_image.layers, v_image.next_ino, v_image.used_bytes, v_image.used_inodes,
            v_image.state_sha256)
    ON CONFLICT ON CONSTRAINT image_name_key DO UPDATE
       SET layers = excluded.layers, next_ino = excluded.next_ino, used_bytes = excluded.used_bytes, used_inodes = excluded.used_inodes,
           state_sha256 = excluded.state_sha256, created_at = clock_timestamp()
     WHERE i.owner = p_owner
    RETURNING i.id INTO v_id;
    IF v_id IS NULL THEN
        PERFORM pgbox.raise_errno('EPERM', 'tag_image', p_name || ':' || coalesce(p_tag, 'latest'));
    END IF;
    PERFORM pgbox.log_verb('00000000-0000-0000-0000-000000000000', p_tenant, format('image tag %s %s:%s', p_image, p_name, coalesce(p_tag, 'latest')), 0, 0);
    RETURN QUERY SELECT v.* FROM fs.image v WHERE v.id = v_id;
END
$$;

ALTER FUNCTION fs.tag_image(text, text, text, text, text) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION fs.tag_image(text, text, text, text, text) IS
    'Gives an image another name and tag, and takes them from the image that had them before. EPERM when that one has another owner.';
