CREATE FUNCTION pgbox.first_ino() RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
RETURN 1024::bigint;

COMMENT ON FUNCTION pgbox.first_ino() IS
    'The first inode number of a sandbox. Lower numbers belong to the base layer and do not count in the usage.';
