package vfs

import (
	"io"
	"os"
)

// Kind is a file type, numbered like d_type in readdir(3).
type Kind uint8

// The kinds a sandbox can hold.
const (
	FIFO    Kind = 1
	Char    Kind = 2
	Dir     Kind = 4
	Regular Kind = 8
	Symlink Kind = 10
)

// Name is the kind as the interfaces of the gateway call it.
func (k Kind) Name() string {
	switch k {
	case Dir:
		return "dir"
	case Symlink:
		return "symlink"
	case Char:
		return "char"
	case FIFO:
		return "fifo"
	}
	return "file"
}

// Flags of [FS.Open]; the values are those of package os.
const (
	ReadOnly  = os.O_RDONLY
	WriteOnly = os.O_WRONLY
	ReadWrite = os.O_RDWR
	Append    = os.O_APPEND
	Create    = os.O_CREATE
	Excl      = os.O_EXCL
	Trunc     = os.O_TRUNC
	// NoFollow makes Open fail with ELOOP when the last component is a symlink.
	NoFollow = 0x20000
	// Directory makes Open fail with ENOTDIR unless the path is a directory.
	Directory = 0x10000
)

// Stat describes one inode, as stat(2) does.
type Stat struct {
	Ino    uint64
	Kind   Kind
	Mode   uint32 // the permission bits, with setuid, setgid and sticky: 0..07777
	UID    uint32
	GID    uint32
	Nlink  uint32
	Rdev   uint32 // major<<8 | minor, of character devices
	Size   int64  // bytes; for a symlink the length of its target
	Mtime  int64  // nanoseconds since the epoch
	Ctime  int64  // nanoseconds since the epoch
	Blocks int64  // 512-byte units really held (holes do not count)
}

// IsDir reports whether the inode is a directory.
func (s Stat) IsDir() bool { return s.Kind == Dir }

// Dirent is one name in a directory.
type Dirent struct {
	Name string
	Ino  uint64
	Kind Kind
}

// Usage is what df shows: limits are 0 when there is none.
type Usage struct {
	Bytes, MaxBytes   int64
	Inodes, MaxInodes int64
}

// File is an open regular file, directory or device.
type File interface {
	io.ReadWriteCloser
	io.ReaderAt
	io.WriterAt
	io.Seeker
	Stat() (Stat, error)
	Truncate(size int64) error
}

// NullInput is /dev/null, open for reading, for a process that is given nothing to read, whatever became of the device
// in the tree.
type NullInput struct{}

func (NullInput) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	return 0, io.EOF
}

func (d NullInput) ReadAt(b []byte, _ int64) (int, error) { return d.Read(b) }
func (NullInput) Write([]byte) (int, error)               { return 0, EBADF }
func (NullInput) WriteAt([]byte, int64) (int, error)      { return 0, EBADF }
func (NullInput) Seek(int64, int) (int64, error)          { return 0, nil }
func (NullInput) Truncate(int64) error                    { return EINVAL }
func (NullInput) Close() error                            { return nil }
func (NullInput) Stat() (Stat, error) {
	return Stat{Kind: Char, Mode: 0o666, Nlink: 1, Rdev: 1<<8 | 3}, nil
}

// FS is the sandbox's filesystem as the shell sees it. Every path is absolute;
// `.`, `..`, repeated slashes and trailing slashes are allowed and mean what
// POSIX says (".." after a symlink is the parent of the symlink's target).
// Errors carry a Errno (errors.Is / Of). All methods are safe for concurrent use.
type FS interface {
	Open(path string, flag int, perm uint32) (File, error)
	Stat(path string) (Stat, error)
	Lstat(path string) (Stat, error)
	// ReadDir lists a directory in byte order of names, without "." and "..".
	ReadDir(path string) ([]Dirent, error)
	// ReadFile returns a whole regular file. The caller must not modify the slice:
	// it may be shared with every other reader of the same content.
	ReadFile(path string) ([]byte, error)
	Readlink(path string) (string, error)
	// Realpath returns the canonical path of an existing file.
	Realpath(path string) (string, error)
	Mkdir(path string, perm uint32) error
	Rmdir(path string) error
	Unlink(path string) error
	Rename(from, to string) error
	Link(from, to string) error // does not follow a symlink in from
	Symlink(target, path string) error
	Mknod(path string, kind Kind, perm uint32, rdev uint32) error
	Chmod(path string, mode uint32) error               // follows symlinks
	Chown(path string, uid, gid int, follow bool) error // -1 leaves one unchanged
	Utimes(path string, mtime int64, follow bool) error // nanoseconds since the epoch
	Truncate(path string, size int64) error
	Usage() Usage
}
