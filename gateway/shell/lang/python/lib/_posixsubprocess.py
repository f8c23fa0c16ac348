"""fork and exec in one, for subprocess."""
import os

import _pgbox


def fork_exec(args, executables, close_fds, pass_fds, cwd, env, p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite,
              errpipe_read, errpipe_write, restore_signals, start_new_session, process_group, gid, groups, uid, umask, preexec, vfork):
    if preexec is not None:
        raise RuntimeError("preexec_fn is not supported: there is no fork")
    fds = [given if given >= 0 else inherited for given, inherited in ((p2cread, 0), (c2pwrite, 1), (errwrite, 2))]
    if env is None:
        variables = None
    else:
        variables = dict(os.fsdecode(kv).partition("=")[::2] for kv in env)
    names = [os.fsdecode(a) for a in args]
    if len(executables) == 1:
        names[0] = os.fsdecode(executables[0])
    try:
        return _pgbox.spawn(names, fds, cwd, variables)
    except OSError as e:
        before = b""
        if cwd is not None and not os.path.isdir(cwd):
            before = b"noexec:chdir"
        os.write(errpipe_write, b"OSError:%x:%b" % (e.errno, before))
        return _pgbox.spawn(["false"], (0, 1, 2))
