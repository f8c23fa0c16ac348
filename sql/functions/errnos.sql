CREATE FUNCTION fs.errnos() RETURNS TABLE (name text, errno integer, sqlstate text, message text)
    LANGUAGE sql IMMUTABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
    SELECT e.name, e.errno, 'VF' || lpad(e.errno::text, 3, '0'), e.message
      FROM (VALUES
        ('EPERM', 1, 'operation not permitted'),
        ('ENOENT', 2, 'no such file or directory'),
        ('ESRCH', 3, 'no such sandbox'),
        ('EIO', 5, 'input/output error'),
        ('ENXIO', 6, 'no such device or address'),
        ('EBUSY', 16, 'device or resource busy'),
        ('EEXIST', 17, 'file exists'),
        ('ENOTDIR', 20, 'not a directory'),
        ('EISDIR', 21, 'is a directory'),
        ('EINVAL', 22, 'invalid argument'),
        ('EFBIG', 27, 'file too large'),
        ('ENOSPC', 28, 'no space left on device'),
        ('EROFS', 30, 'read-only file system'),
        ('ENAMETOOLONG', 36, 'file name too long'),
        ('ENOTEMPTY', 39, 'directory not empty'),
        ('ELOOP', 40, 'too many levels of symbolic links'),
        ('ENODATA', 61, 'content is not in the database'),
        ('ESTALE', 116, 'the sandbox has changed since it was read'),
        ('EDQUOT', 122, 'disk quota exceeded')
      ) AS e (name, errno, message)
$$;

COMMENT ON FUNCTION fs.errnos() IS
    'The errors that the functions of fs raise: the name and number of the Linux errno, the SQLSTATE (VF and the number in three digits), and what it means here.';
