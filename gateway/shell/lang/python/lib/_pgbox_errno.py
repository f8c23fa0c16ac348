"""Errors with the numbers and texts of Linux: those of the system below are in the order of their names."""
import builtins
import errno
import posix

_TABLE = """E2BIG 7 Argument list too long|EACCES 13 Permission denied|EADDRINUSE 98 Address already in use|EADDRNOTAVAIL 99 Cannot assign requested address
EAFNOSUPPORT 97 Address family not supported by protocol|EAGAIN 11 Resource temporarily unavailable|EALREADY 114 Operation already in progress
EBADF 9 Bad file descriptor|EBADMSG 74 Bad message|EBUSY 16 Device or resource busy|ECANCELED 125 Operation canceled|ECHILD 10 No child processes
ECONNABORTED 103 Software caused connection abort|ECONNREFUSED 111 Connection refused|ECONNRESET 104 Connection reset by peer
EDEADLK 35 Resource deadlock avoided|EDESTADDRREQ 89 Destination address required|EDOM 33 Numerical argument out of domain|EDQUOT 122 Disk quota exceeded
EEXIST 17 File exists|EFAULT 14 Bad address|EFBIG 27 File too large|EHOSTUNREACH 113 No route to host|EIDRM 43 Identifier removed
EILSEQ 84 Invalid or incomplete multibyte or wide character|EINPROGRESS 115 Operation now in progress|EINTR 4 Interrupted system call
EINVAL 22 Invalid argument|EIO 5 Input/output error|EISCONN 106 Transport endpoint is already connected|EISDIR 21 Is a directory
ELOOP 40 Too many levels of symbolic links|EMFILE 24 Too many open files|EMLINK 31 Too many links|EMSGSIZE 90 Message too long|EMULTIHOP 72 Multihop attempted
ENAMETOOLONG 36 File name too long|ENETDOWN 100 Network is down|ENETRESET 102 Network dropped connection on reset|ENETUNREACH 101 Network is unreachable
ENFILE 23 Too many open files in system|ENOBUFS 105 No buffer space available|ENODEV 19 No such device|ENOENT 2 No such file or directory
ENOEXEC 8 Exec format error|ENOLCK 37 No locks available|ENOLINK 67 Link has been severed|ENOMEM 12 Cannot allocate memory|ENOMSG 42 No message of desired type
ENOPROTOOPT 92 Protocol not available|ENOSPC 28 No space left on device|ENOSYS 38 Function not implemented|ENOTCONN 107 Transport endpoint is not connected
ENOTDIR 20 Not a directory|ENOTEMPTY 39 Directory not empty|ENOTRECOVERABLE 131 State not recoverable|ENOTSOCK 88 Socket operation on non-socket
ENOTSUP 95 Operation not supported|ENOTTY 25 Inappropriate ioctl for device|ENXIO 6 No such device or address|EOVERFLOW 75 Value too large for defined data type
EOWNERDEAD 130 Owner died|EPERM 1 Operation not permitted|EPIPE 32 Broken pipe|EPROTO 71 Protocol error|EPROTONOSUPPORT 93 Protocol not supported
EPROTOTYPE 91 Protocol wrong type for socket|ERANGE 34 Numerical result out of range|EROFS 30 Read-only file system|ESPIPE 29 Illegal seek|ESRCH 3 No such process
ESTALE 116 Stale file handle|ETIMEDOUT 110 Connection timed out|ETXTBSY 26 Text file busy|EXDEV 18 Invalid cross-device link|ENOTCAPABLE 1 Operation not permitted
EOPNOTSUPP 95 Operation not supported|EWOULDBLOCK 11 Resource temporarily unavailable|ENODATA 61 No data available|ESHUTDOWN 108 Cannot send after transport endpoint shutdown
ETIME 62 Timer expired|ENOTBLK 15 Block device required|ENOSTR 60 Device not a stream|ENOTUNIQ 76 Name not unique on network|EUSERS 87 Too many users"""

_CLASSES = {1: "PermissionError", 2: "FileNotFoundError", 3: "ProcessLookupError", 4: "InterruptedError", 10: "ChildProcessError", 11: "BlockingIOError",
            13: "PermissionError", 17: "FileExistsError", 20: "NotADirectoryError", 21: "IsADirectoryError", 32: "BrokenPipeError", 103: "ConnectionAbortedError",
            104: "ConnectionResetError", 108: "BrokenPipeError", 110: "TimeoutError", 111: "ConnectionRefusedError", 114: "BlockingIOError", 115: "BlockingIOError"}

_OWN = 1 << 62  # offsets of our own memory
_SEARCH = _OWN | 1 << 61


def _word(address):
    return int.from_bytes(posix.pread(0, 4, _OWN | address), "little")


def _bytes(*words):
    return b"".join(w.to_bytes(4, "little") for w in words)


def _find(pattern, address=0):
    """The addresses at which a pattern stands."""
    while True:
        posix.pwrite(0, pattern, _SEARCH)
        at = posix.pread(0, 4, _SEARCH | address)
        if not at:
            return
        at = int.from_bytes(at, "little")
        yield at
        address = at + 1


def _kinds():
    """The interpreter's dictionary that tells OSError which of its subclasses a number stands for. No object leads to it."""
    for entry in _find(_bytes(errno.ENOENT, id(errno.ENOENT), id(FileNotFoundError))):
        for i in range(32):
            keys = entry - 12 * i - 32 - 20
            if posix.pread(0, 7, _OWN | keys) != b"\1\0\0\0\5\5\0":
                continue
            for at in _find(_bytes(keys)):
                found = at - 24
                if _word(found + 4) == id(dict):
                    box = [None]
                    posix.pwrite(0, _bytes(_word(found) + 1), _OWN | found)
                    posix.pwrite(0, _bytes(found), _OWN | _word(id(box) + 12))
                    return box[0]


def install():
    kinds = _kinds()
    if kinds is None:
        return
    below, texts = {}, {}
    names = {}
    for line in _TABLE.replace("\n", "|").split("|"):
        name, number, text = line.split(" ", 2)
        number = int(number)
        texts[number] = text
        names.setdefault(number, name)
        old = getattr(errno, name, None)
        if old is not None:
            below.setdefault((old, posix.strerror(old)), number)
    classes = {}  # by name: heap types of the names of the built-in ones, because an object cannot become one of those

    def kind(number):
        name = _CLASSES.get(number, "OSError")
        c = classes.get(name)
        if c is None:
            real = getattr(builtins, name)

            def __reduce__(self):
                return (real,) + super(c, self).__reduce__()[1:]
            c = classes[name] = type(name, (real,), {"__slots__": (), "__module__": "builtins", "__doc__": real.__doc__, "__reduce__": __reduce__})
        return c

    class Fresh(OSError):
        __slots__ = ()

        def __init__(self, number, text, *names):
            # An error of the system below comes with its text for the number; what a program makes has Linux's.
            if isinstance(text, str) and (number, text) in below:
                number = below[number, text]
                text = texts[number]
            super().__init__(number, text, *names)
            self.__class__ = kind(number)

    for number in set(range(1, 134)) | set(kinds):
        kinds[number] = Fresh
    errno.errorcode.clear()
    for number, name in names.items():
        errno.errorcode[number] = name
    for line in _TABLE.replace("\n", "|").split("|"):
        name, number, _ = line.split(" ", 2)
        if name != "ENOTCAPABLE":
            setattr(errno, name, int(number))

    def strerror(code, /):
        return texts.get(code) or "Unknown error %d" % code if code else "Success"
    posix.strerror = strerror
    import os
    os.strerror = strerror
