CREATE FUNCTION pgbox.raise_errno(p_errno integer, p_op text, p_path text) RETURNS void
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION USING
        ERRCODE = 'VF' || lpad(p_errno::text, 3, '0'),
        MESSAGE = format('%s %s: %s', p_op, coalesce('"' || p_path || '"', '-'), CASE p_errno
            WHEN 1 THEN 'EPERM: operation not permitted'
            WHEN 2 THEN 'ENOENT: no such file or directory'
            WHEN 3 THEN 'ESRCH: no such sandbox'
            WHEN 5 THEN 'EIO: input/output error'
            WHEN 6 THEN 'ENXIO: no such device or address'
            WHEN 16 THEN 'EBUSY: device or resource busy'
            WHEN 17 THEN 'EEXIST: file exists'
            WHEN 18 THEN 'EXDEV: invalid cross-device link'
            WHEN 20 THEN 'ENOTDIR: not a directory'
            WHEN 21 THEN 'EISDIR: is a directory'
            WHEN 22 THEN 'EINVAL: invalid argument'
            WHEN 26 THEN 'ETXTBSY: text file busy'
            WHEN 27 THEN 'EFBIG: file too large'
            WHEN 28 THEN 'ENOSPC: no space left on device'
            WHEN 30 THEN 'EROFS: read-only file system'
            WHEN 31 THEN 'EMLINK: too many links'
            WHEN 36 THEN 'ENAMETOOLONG: file name too long'
            WHEN 39 THEN 'ENOTEMPTY: directory not empty'
            WHEN 40 THEN 'ELOOP: too many levels of symbolic links'
            WHEN 61 THEN 'ENODATA: content is not in the database'
            WHEN 84 THEN 'EILSEQ: invalid multibyte character'
            WHEN 95 THEN 'EOPNOTSUPP: operation not supported'
            WHEN 116 THEN 'ESTALE: the sandbox has changed since it was read'
            WHEN 122 THEN 'EDQUOT: disk quota exceeded'
            ELSE 'errno ' || p_errno::text END);
END
$$;

COMMENT ON FUNCTION pgbox.raise_errno(integer, text, text) IS
    'Raises SQLSTATE VF + three-digit Linux errno. The one place errors of the filesystem are made.';
