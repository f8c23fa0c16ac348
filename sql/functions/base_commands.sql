CREATE FUNCTION pgbox.base_commands() RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
RETURN ARRAY[
    '[', 'awk', 'b2sum', 'base32', 'base64', 'basename', 'bash', 'cat', 'chmod', 'cmp', 'comm', 'cp', 'cut', 'date',
    'diff', 'dir', 'dirname', 'du', 'echo', 'egrep', 'env', 'expr', 'false', 'fgrep', 'file', 'find', 'gawk', 'grep',
    'gunzip', 'gzip', 'head', 'join', 'jq', 'kill', 'ln', 'ls', 'mawk', 'md5sum', 'mkdir', 'mktemp', 'mv', 'nl', 'od',
    'paste', 'printf', 'pwd', 'readlink', 'realpath', 'rev', 'rm', 'rmdir', 'sed', 'seq', 'sh', 'sha1sum', 'sha224sum',
    'sha256sum', 'sha384sum', 'sha512sum', 'sleep', 'sort', 'split', 'stat', 'tac', 'tail', 'tar', 'tee', 'test',
    'timeout', 'touch', 'tr', 'tree', 'true', 'uniq', 'vdir', 'wc', 'which', 'xargs', 'xxd', 'yes', 'zcat'];

COMMENT ON FUNCTION pgbox.base_commands() IS
    'The commands that /usr/bin of the base layer holds a file for.';
