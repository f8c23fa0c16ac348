package wasi

import (
	"errors"
	"io"

	"github.com/pgbox/pgbox/gateway/vfs"
)

// Errno is an error number of preview 1, where they are in the order of their names. 0 is none.
type Errno uint16

var errnos = map[vfs.Errno]Errno{
	vfs.E2BIG: 1, vfs.EACCES: 2, vfs.EAGAIN: 6, vfs.EBADF: 8, vfs.EBUSY: 10, vfs.ECANCELED: 11, vfs.ECHILD: 12,
	vfs.EDOM: 18, vfs.EDQUOT: 19, vfs.EEXIST: 20, vfs.EFBIG: 22, vfs.EILSEQ: 25, vfs.EINTR: 27, vfs.EINVAL: 28,
	vfs.EIO: 29, vfs.EISDIR: 31, vfs.ELOOP: 32, vfs.EMFILE: 33, vfs.EMLINK: 34, vfs.ENAMETOOLONG: 37,
	vfs.ENOBUFS: 42, vfs.ENODEV: 43, vfs.ENOENT: 44, vfs.ENOEXEC: 45, vfs.ENOMEM: 48, vfs.ENOSPC: 51,
	vfs.ENOSYS: 52, vfs.ENOTDIR: 54, vfs.ENOTEMPTY: 55, vfs.EOPNOTSUPP: 58, vfs.ENOTTY: 59, vfs.ENXIO: 60,
	vfs.EOVERFLOW: 61, vfs.EPERM: 63, vfs.EPIPE: 64, vfs.ERANGE: 68, vfs.EROFS: 69, vfs.ESPIPE: 70, vfs.ESRCH: 71,
	vfs.ESTALE: 72, vfs.ETIMEDOUT: 73, vfs.ETXTBSY: 74, vfs.EXDEV: 75,
}

// errnoOf is the number of an error that a file or a stream has answered. The end of a file is none.
func errnoOf(err error) Errno {
	if err == nil || errors.Is(err, io.EOF) {
		return 0
	}
	if e, ok := vfs.Of(err); ok {
		if n, ok := errnos[e]; ok {
			return n
		}
	}
	return errnos[vfs.EIO]
}
