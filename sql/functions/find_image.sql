CREATE FUNCTION pgbox.find_image(p_tenant text, p_image text, p_op text, p_drop boolean DEFAULT false) RETURNS pgbox.image
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_name  text := regexp_replace(p_image, ':[^:/]*$', '');
    v_tag   text := coalesce(substring(p_image FROM ':([^:/]*)$'), 'latest');
    v_image pgbox.image;
BEGIN
    IF p_drop THEN
        SELECT i.* INTO v_image FROM pgbox.image i WHERE i.tenant = p_tenant AND i.name = v_name AND i.tag = v_tag FOR UPDATE;
    ELSE
        -- Whoever drops the image or moves the tag waits until the caller stands on its layers.
        SELECT i.* INTO v_image FROM pgbox.image i WHERE i.tenant = p_tenant AND i.name = v_name AND i.tag = v_tag FOR SHARE;
    END IF;
    IF v_image.id IS NULL THEN
        PERFORM pgbox.raise_errno('ENOENT', p_op, p_image);
    END IF;
    RETURN v_image;
END
$$;

COMMENT ON FUNCTION pgbox.find_image(text, text, text, boolean) IS
    'An image of a tenant by name or name:tag (by default latest), locked so that it cannot be removed (p_drop: locked for removal). ENOENT when there is none.';
