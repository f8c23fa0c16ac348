CREATE FUNCTION fs.drop_image(p_tenant text, p_owner text, p_image text) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_image pgbox.image := pgbox.find_image(p_tenant, p_image, 'drop_image', true);
BEGIN
    IF v_image.owner <> p_owner THEN
        PERFORM pgbox.raise_errno('EPERM', 'drop_image', p_image);
    END IF;
    DELETE FROM pgbox.image i WHERE i.id = v_image.id;
    PERFORM pgbox.free_layers(v_image.layers);
    PERFORM pgbox.log_verb('00000000-0000-0000-0000-000000000000', p_tenant, 'image rm ' || p_image, 0, 0);
END
$$;

ALTER FUNCTION fs.drop_image(text, text, text) OWNER TO pgbox_maintainer;

COMMENT ON FUNCTION fs.drop_image(text, text, text) IS
    'Removes a name and tag of an image and frees the layers that only it used. Sandboxes made from it keep theirs. ENOENT when there is no such image, EPERM when it has another owner.';
