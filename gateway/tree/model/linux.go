//go:build linux

package model

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pgbox/pgbox/gateway/vfs"
)

// Linux is the kernel's filesystem as a [Target]: the oracle that the model itself is held against.
// It serves [LinuxVerbs].
type Linux struct{ t testing.TB }

// LinuxVerbs are the verbs that are one system call.
var LinuxVerbs = slices.DeleteFunc(slices.Clone(AllVerbs), func(v Verb) bool {
	return v == MkdirAll || v == RemoveAll || v == Realpath
})

// OnLinux runs f on a thread whose root directory is a new empty directory, and reports whether it could: changing
// the root takes CAP_SYS_CHROOT. In f all paths are below that root, and f must not call anything
// that opens files of the host.
func OnLinux(t testing.TB, f func(l *Linux)) bool {
	t.Helper()
	dir := t.TempDir()
	// tmpfs counts the links of directories as POSIX does; overlayfs does not.
	if d, err := os.MkdirTemp("/dev/shm", "pgbox"); err == nil {
		t.Cleanup(func() { _ = os.RemoveAll(d) })
		dir = d
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	ok := make(chan bool, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		// Never unlocked: the thread ends with the goroutine.
		runtime.LockOSThread()
		if unix.Unshare(unix.CLONE_FS) != nil || unix.Chroot(dir) != nil || unix.Chdir("/") != nil {
			ok <- false
			return
		}
		ok <- true
		unix.Umask(0)
		f(&Linux{t})
	}()
	<-done
	return <-ok
}

// Errno converts what a system call returned.
func (l *Linux) Errno(err error) vfs.Errno {
	if err == nil {
		return 0
	}
	var e syscall.Errno
	if !errors.As(err, &e) {
		panic(fmt.Sprintf("not an errno: %v", err))
	}
	return vfs.Errno(e)
}

// Apply runs one operation.
func (l *Linux) Apply(op Op) (Result, vfs.Errno) {
	r, err := l.apply(op)
	if err != nil {
		return Result{}, l.Errno(err)
	}
	return r, 0
}

func (l *Linux) apply(op Op) (r Result, err error) {
	switch op.Verb {
	case WriteFile:
		return r, l.write(op, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC)
	case AppendFile:
		return r, l.write(op, unix.O_WRONLY|unix.O_CREAT|unix.O_APPEND)
	case WriteAt:
		return r, l.write(op, unix.O_WRONLY)
	case Truncate:
		return r, unix.Truncate(op.Path, op.Off)
	case ReadFile:
		fd, err := unix.Open(op.Path, unix.O_RDONLY, 0)
		if err != nil {
			return r, err
		}
		defer func() { _ = unix.Close(fd) }()
		r.Data, err = readFD(fd, op.Off, op.Len)
		return r, err
	case Mkdir:
		return r, unix.Mkdir(op.Path, op.Mode)
	case Rmdir:
		return r, unix.Rmdir(op.Path)
	case Unlink:
		return r, unix.Unlink(op.Path)
	case Rename:
		return r, unix.Rename(op.Path, op.To)
	case Link:
		return r, unix.Link(op.Path, op.To)
	case Symlink:
		return r, unix.Symlink(op.To, op.Path)
	case Readlink:
		buf := make([]byte, 4096)
		n, err := unix.Readlink(op.Path, buf)
		if err != nil {
			return r, err
		}
		return Result{Text: string(buf[:n])}, nil
	case Chmod:
		return r, unix.Chmod(op.Path, op.Mode)
	case Chown:
		if op.Follow {
			return r, unix.Chown(op.Path, op.UID, op.GID)
		}
		return r, unix.Lchown(op.Path, op.UID, op.GID)
	case Utimes:
		flag := 0
		if !op.Follow {
			flag = unix.AT_SYMLINK_NOFOLLOW
		}
		ts := []unix.Timespec{unix.NsecToTimespec(op.Mtime), unix.NsecToTimespec(op.Mtime)}
		return r, unix.UtimesNanoAt(unix.AT_FDCWD, op.Path, ts, flag)
	case Stat, Lstat:
		var st unix.Stat_t
		if op.Verb == Stat {
			err = unix.Stat(op.Path, &st)
		} else {
			err = unix.Lstat(op.Path, &st)
		}
		if err != nil {
			return r, err
		}
		return Result{Stat: attrOf(&st)}, nil
	case Readdir:
		r.Names, err = l.readdir(op.Path)
		return r, err
	}
	return r, unix.ENOSYS
}

func (l *Linux) write(op Op, flag int) error {
	fd, err := unix.Open(op.Path, flag, op.Mode)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	if op.Verb == WriteAt {
		_, err = unix.Pwrite(fd, op.Data, op.Off)
		return err
	}
	for data := op.Data; len(data) > 0; {
		n, err := unix.Write(fd, data)
		if err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

func readFD(fd int, off, n int64) ([]byte, error) {
	var data []byte
	buf := make([]byte, 64<<10)
	for {
		b := buf
		if n >= 0 && n < int64(len(b)) {
			b = b[:n]
		}
		k, err := unix.Pread(fd, b, off)
		if err != nil {
			return nil, err
		}
		if k == 0 {
			break
		}
		data = append(data, b[:k]...)
		off += int64(k)
		if n > 0 {
			n -= int64(k)
		}
	}
	return data, nil
}

func attrOf(st *unix.Stat_t) Attr {
	a := Attr{
		Kind: kindOf(st.Mode), Mode: st.Mode & 0o7777, UID: st.Uid, GID: st.Gid,
		Nlink: uint32(st.Nlink), Mtime: st.Mtim.Nano(),
	}
	if a.Kind != vfs.Dir {
		a.Size = st.Size
	}
	return a
}

func kindOf(mode uint32) vfs.Kind {
	switch mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return vfs.Dir
	case unix.S_IFREG:
		return vfs.Regular
	case unix.S_IFLNK:
		return vfs.Symlink
	case unix.S_IFCHR:
		return vfs.Char
	}
	return vfs.FIFO
}

// readdir lists a directory with getdents64, because package os needs more of the host than a system call.
func (l *Linux) readdir(path string) ([]Name, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }()
	var list []Name
	buf := make([]byte, 64<<10)
	for {
		n, err := unix.Getdents(fd, buf)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			break
		}
		for b := buf[:n]; len(b) > 0; {
			d := (*unix.Dirent)(unsafe.Pointer(&b[0]))
			name, _, _ := strings.Cut(string(b[unsafe.Offsetof(d.Name):d.Reclen]), "\x00")
			if name != "." && name != ".." {
				list = append(list, Name{name, vfs.Kind(d.Type)})
			}
			b = b[d.Reclen:]
		}
	}
	slices.SortFunc(list, func(a, b Name) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// Dump lists the tree below the root.
func (l *Linux) Dump() []Entry {
	var list []Entry
	check := func(err error) {
		if err != nil {
			panic(fmt.Sprintf("dump: %v", err))
		}
	}
	var walk func(path string)
	walk = func(path string) {
		var st unix.Stat_t
		check(unix.Lstat(path, &st))
		e := Entry{Path: path, Attr: attrOf(&st), Same: fmt.Sprint(st.Ino)}
		switch e.Attr.Kind {
		case vfs.Regular:
			r, err := l.apply(Op{Verb: ReadFile, Path: path, Len: -1})
			check(err)
			e.Sum = Sum(r.Data)
		case vfs.Symlink:
			r, err := l.apply(Op{Verb: Readlink, Path: path})
			check(err)
			e.Target = r.Text
		}
		list = append(list, e)
		if e.Attr.Kind == vfs.Dir {
			names, err := l.readdir(path)
			check(err)
			for _, n := range names {
				walk(strings.TrimSuffix(path, "/") + "/" + n.Name)
			}
		}
	}
	walk("/")
	Sort(list)
	return list
}
