CREATE FUNCTION pgbox.base_entries() RETURNS TABLE (
    path    text,
    kind    smallint,
    mode    integer,
    uid     integer,
    rdev    integer,
    content bytea,
    target  text
)
    LANGUAGE sql IMMUTABLE
    SET search_path = pg_catalog, pg_temp
AS $$
    SELECT d.path, 4::smallint, d.mode, d.uid, 0, NULL::bytea, NULL::text
      FROM (VALUES
        ('/', 493, 0), ('/dev', 493, 0), ('/dev/fd', 493, 0), ('/etc', 493, 0), ('/home', 493, 0), ('/home/user', 493, 1000),
        ('/mnt', 493, 0), ('/opt', 493, 0), ('/root', 448, 0), ('/run', 493, 0), ('/srv', 493, 0), ('/tmp', 1023, 0),
        ('/usr', 493, 0), ('/usr/bin', 493, 0), ('/usr/lib', 493, 0), ('/usr/local', 493, 0), ('/usr/local/bin', 493, 0),
        ('/usr/sbin', 493, 0), ('/usr/share', 493, 0), ('/var', 493, 0), ('/var/log', 493, 0), ('/var/tmp', 1023, 0)
      ) AS d (path, mode, uid)
    UNION ALL
    SELECT l.path, 10::smallint, 511, 0, 0, NULL, l.target
      FROM (VALUES ('/bin', 'usr/bin'), ('/lib', 'usr/lib'), ('/sbin', 'usr/sbin')) AS l (path, target)
    UNION ALL
    -- rdev is major << 8 | minor, as Linux numbers its memory and terminal devices.
    SELECT c.path, 2::smallint, 438, 0, c.major * 256 + c.minor, NULL, NULL
      FROM (VALUES
        ('/dev/null', 1, 3), ('/dev/zero', 1, 5), ('/dev/full', 1, 7), ('/dev/random', 1, 8), ('/dev/urandom', 1, 9),
        ('/dev/tty', 5, 0), ('/dev/stdin', 5, 0), ('/dev/stdout', 5, 0), ('/dev/stderr', 5, 0)
      ) AS c (path, major, minor)
    UNION ALL
    SELECT '/usr/bin/' || b.name, 8::smallint, 493, 0, 0, convert_to('#!/bin/builtin ' || b.name || E'\n', 'UTF8'), NULL
      FROM unnest(pgbox.base_commands()) AS b (name)
    UNION ALL
    SELECT f.path, 8::smallint, 420, 0, 0, convert_to(f.content, 'UTF8'), NULL
      FROM (VALUES
        ('/etc/passwd', E'root:x:0:0:root:/root:/bin/bash\nuser:x:1000:1000:user:/home/user:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n'),
        ('/etc/group', E'root:x:0:\nuser:x:1000:\nnogroup:x:65534:\n'),
        ('/etc/hostname', E'sandbox\n'),
        ('/etc/hosts', E'127.0.0.1\tlocalhost sandbox\n'),
        ('/etc/shells', E'/bin/sh\n/bin/bash\n/usr/bin/bash\n/usr/bin/sh\n'),
        ('/etc/os-release', E'PRETTY_NAME="pgbox"\nNAME="pgbox"\nID=pgbox\nID_LIKE=debian\n')
      ) AS f (path, content)
$$;

COMMENT ON FUNCTION pgbox.base_entries() IS
    'What the base layer holds: one row per path. uid is also the gid.';
