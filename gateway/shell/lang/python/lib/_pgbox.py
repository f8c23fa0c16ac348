"""What WebAssembly has no system call for, asked of the sandbox. Not for programs: they find it where it belongs, in os, subprocess, ..."""
import errno
import io
import os
import sys

_CONTROL = "/.pgbox/control"
_MARK = 0x706762_6f7801
_marks = 0
_open, _read, _write, _close = os.open, os.read, os.write, os.close


def _quote(s):
    out = ['"']
    for c in s:
        n = ord(c)
        if c in '"\\':
            out.append("\\" + c)
        elif n < 32 or 0xd800 <= n < 0xe000:
            out.append("\\u%04x" % n)
        else:
            out.append(c)
    out.append('"')
    return "".join(out)


def _text(v):
    """JSON, without loading the module for it."""
    if v is None:
        return "null"
    if v is True or v is False:
        return "true" if v else "false"
    if isinstance(v, int):
        return str(v)
    if isinstance(v, str):
        return _quote(v)
    if isinstance(v, dict):
        return "{" + ",".join(_quote(k) + ":" + _text(x) for k, x in v.items()) + "}"
    return "[" + ",".join(map(_text, v)) + "]"


def ask(op, *names, **args):
    args["op"] = op
    fd = _open(_CONTROL, os.O_RDWR)
    try:
        _write(fd, _text(args).encode("utf-8", "surrogateescape"))
        answer = b""
        while True:
            b = _read(fd, 65536)
            if not b:
                break
            answer += b
    finally:
        _close(fd)
    a = eval(answer, {"__builtins__": {}, "true": True, "false": False, "null": None})
    e = a.get("errno")
    if e:
        raise OSError(e, os.strerror(e), *names)
    return a


def path(p):
    """A path as requests take it."""
    if isinstance(p, int):
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    return os.path.join(os.getcwd(), os.fsdecode(p))


def mark(fd):
    """Gives an open file a name that a request can speak of."""
    global _marks
    _marks += 1
    os.posix_fadvise(fd, _MARK, _marks, 0)
    return _marks


def pipe():
    a = ask("pipe")
    return _open(a["read"], os.O_RDONLY), _open(a["write"], os.O_WRONLY)


def spawn(args, fds, cwd=None, env=None):
    return ask("spawn", args=[os.fsdecode(a) for a in args], fds=[mark(fd) for fd in fds], dir=path(cwd or "."),
               env=["%s=%s" % kv for kv in (os.environ if env is None else env).items()])["pid"]


def _waitpid(pid, options):
    a = ask("wait", pid=pid, block=not options & os.WNOHANG)
    return a.get("pid", 0), a["status"]


def _system(command):
    null = _open("/dev/null", os.O_RDONLY)
    try:
        return _waitpid(spawn(["sh", "-c", command], (0, 1, 2)), 0)[1]
    finally:
        _close(null)


def _stat(real):
    def stat(*args, **kw):
        st = real(*args, **kw)
        extra = st.st_dev >> 8
        if not extra:
            return st
        return os.stat_result((
            st.st_mode & ~0o7777 | extra & 0o7777, st.st_ino, st.st_dev & 0xff, st.st_nlink, extra >> 12 & 0xffff, extra >> 28 & 0xffff,
            st.st_size, int(st.st_atime), int(st.st_mtime), int(st.st_ctime), st.st_atime, st.st_mtime, st.st_ctime,
            st.st_atime_ns, st.st_mtime_ns, st.st_ctime_ns))
    stat.__name__ = stat.__qualname__ = real.__name__
    stat.__doc__ = real.__doc__
    return stat


def _access(p, mode, **kw):
    try:
        st = os.stat(p)
    except OSError:
        return False
    return not mode & os.X_OK or bool(st.st_mode & 0o111) or st.st_mode & 0o170000 == 0o040000


def _chmod(p, mode, *, dir_fd=None, follow_symlinks=True):
    ask("chmod", p, path=path(p), mode=mode & 0o7777)


def _chown(p, uid, gid, *, dir_fd=None, follow_symlinks=True):
    ask("chown" if follow_symlinks else "lchown", p, path=path(p), uid=uid, gid=gid)


def _kill(pid, sig):
    if pid == os.getpid():
        import signal
        signal.raise_signal(sig)
        return
    ask("kill", pid=pid, signal=int(sig))


def _status(status):
    if os.WIFSIGNALED(status):
        return -os.WTERMSIG(status)
    return os.WEXITSTATUS(status)


def _popen(cmd, mode="r", buffering=-1):
    import subprocess
    if mode not in ("r", "w"):
        raise ValueError("invalid mode %r" % mode)
    pipe = {"stdout" if mode == "r" else "stdin": subprocess.PIPE}
    p = subprocess.Popen(cmd, shell=True, text=True, bufsize=buffering, **pipe)

    class _Wrap:
        def __init__(self, stream):
            self._stream = stream

        def close(self):
            self._stream.close()
            code = p.wait()
            return None if code == 0 else code << 8 if code > 0 else code

        def __enter__(self):
            return self

        def __exit__(self, *args):
            self.close()

        def __getattr__(self, name):
            return getattr(self._stream, name)

        def __iter__(self):
            return iter(self._stream)

    return _Wrap(p.stdout or p.stdin)


def install():
    """Puts it where programs look for it."""
    uid = 1000
    add = {
        "WNOHANG": 1, "WUNTRACED": 2, "WCONTINUED": 8, "X_OK": 1, "W_OK": 2, "R_OK": 4, "F_OK": 0,
        "WIFSIGNALED": lambda s: 0 < s & 0x7f < 0x7f, "WIFEXITED": lambda s: s & 0x7f == 0, "WEXITSTATUS": lambda s: s >> 8 & 0xff,
        "WTERMSIG": lambda s: s & 0x7f, "WIFSTOPPED": lambda s: False, "WSTOPSIG": lambda s: 0, "WCOREDUMP": lambda s: False,
        "WIFCONTINUED": lambda s: False, "waitstatus_to_exitcode": _status,
        "pipe": pipe, "waitpid": _waitpid, "wait": lambda: _waitpid(-1, 0), "system": _system, "popen": _popen, "kill": _kill,
        "chmod": _chmod, "chown": _chown, "lchown": lambda p, u, g: _chown(p, u, g, follow_symlinks=False),
        "umask": lambda mask: ask("umask", mode=mask).get("previous", 0), "mkfifo": lambda p, mode=0o666: ask("mkfifo", p, path=path(p), mode=mode) and None,
        "getpid": lambda: ask("pid")["pid"], "getppid": lambda: 1, "getuid": lambda: uid, "geteuid": lambda: uid, "getgid": lambda: uid,
        "getegid": lambda: uid, "getgroups": lambda: [uid], "getlogin": lambda: os.environ.get("USER", "user"), "cpu_count": lambda: 1,
        "stat": _stat(os.stat), "lstat": _stat(os.lstat), "fstat": _stat(os.fstat), "access": _access,
        "uname": lambda: os.uname_result(("Linux", os.environ.get("HOSTNAME", "sandbox"), "6.1.0", "#1 SMP", "wasm32")),
    }
    import posix
    import _pgbox_errno
    _pgbox_errno.install()
    for name, value in add.items():
        if callable(value) and value.__name__ == "<lambda>":
            value.__name__ = value.__qualname__ = name
        setattr(os, name, value)
        if name not in ("popen", "system"):
            setattr(posix, name, value)
    os.supports_follow_symlinks = os.supports_follow_symlinks | {os.stat, os.chmod, os.chown}


def _before_subprocess():
    """subprocess decides when it is loaded whether there are processes: here there are."""
    platform, sys.platform = sys.platform, "linux"

    def after(module):
        sys.platform = platform
    return after


def _before_selector_events():
    """The loop wakes itself through a socket when a signal or another thread comes; neither does."""
    def after(module):
        loop = module.BaseSelectorEventLoop
        loop._make_self_pipe = loop._close_self_pipe = loop._write_to_self = lambda self: None
    return after


_NO_THREADS = "can't start new thread: this Python has no threads (concurrent.futures.ThreadPoolExecutor works, one task at a time)"


def _before_threading():
    def after(module):
        def start(self):
            raise RuntimeError(_NO_THREADS)
        module.Thread.start = start
    return after


def _before_base_events():
    """A loop that ends waits for its executor in a thread; ours has nothing left to do."""
    def after(module):
        async def shutdown_default_executor(self, timeout=None):
            self._executor_shutdown_called = True
            if self._default_executor is not None:
                self._default_executor.shutdown()
        module.BaseEventLoop.shutdown_default_executor = shutdown_default_executor
    return after


_MODULES = {"asyncio.base_events": _before_base_events, "subprocess": _before_subprocess, "asyncio.selector_events": _before_selector_events, "threading": _before_threading}
# Modules that the interpreter comes without, and the files of ours that stand for them.
_OURS = {"concurrent.futures.thread": "_pgbox_executor.py", "multiprocessing": "_pgbox_multiprocessing.py", "pip": "_pgbox_pip.py"}


class Finder:
    """Changes modules as they are loaded."""

    def find_spec(self, name, path=None, target=None):
        if name in _OURS:
            from importlib.util import spec_from_file_location
            return spec_from_file_location(name, "/.pgbox/python/" + _OURS[name])
        before = _MODULES.pop(name, None)
        if before is None:
            return None
        from importlib.machinery import PathFinder
        spec = PathFinder.find_spec(name, path, target)
        load = spec.loader.exec_module

        def exec_module(module):
            del spec.loader.exec_module
            after = before()
            try:
                load(module)
            finally:
                after(module)
        try:
            spec.loader.exec_module = exec_module
        except AttributeError:
            return None
        return spec
