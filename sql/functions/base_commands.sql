CREATE FUNCTION pgbox.base_commands() RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
RETURN ARRAY[
    '[', 'awk', 'base64', 'basename', 'bash', 'cat', 'chgrp', 'chmod', 'chown', 'cmp', 'comm', 'cp', 'cut', 'date', 'diff',
    'dirname', 'du', 'echo', 'egrep', 'env', 'expr', 'false', 'fgrep', 'file', 'find', 'gawk', 'grep', 'gunzip', 'gzip', 'head',
    'join', 'jq', 'ln', 'ls', 'mawk', 'md5sum', 'mkdir', 'mktemp', 'mv', 'nl', 'od', 'paste', 'patch', 'printf', 'pwd',
    'readlink', 'realpath', 'rev', 'rg', 'rm', 'rmdir', 'sed', 'seq', 'sh', 'sha1sum', 'sha224sum', 'sha256sum', 'sha384sum',
    'sha512sum', 'b2sum', 'sleep', 'sort', 'split', 'stat', 'tac', 'tail', 'tar', 'tee', 'test', 'timeout', 'touch', 'tr',
    'tree', 'true', 'uniq', 'wc', 'which', 'xargs', 'xxd', 'yes', 'zcat'];

COMMENT ON FUNCTION pgbox.base_commands() IS
    'The commands that /usr/bin of the base layer holds a file for.';
