package engine

import (
	"errors"
	"io"
	"time"
)

// OpenFlag is what a file is opened for, as SQLite's SQLITE_OPEN_*.
type OpenFlag uint32

// The flags that a file system needs to know.
const (
	OpenReadOnly      OpenFlag = 0x1
	OpenReadWrite     OpenFlag = 0x2
	OpenCreate        OpenFlag = 0x4
	OpenDeleteOnClose OpenFlag = 0x8
	OpenExclusive     OpenFlag = 0x10
	openURI           OpenFlag = 0x40
	openExtended      OpenFlag = 0x02000000
)

// LockLevel is one of the locks of https://sqlite.org/lockingv3.html.
type LockLevel int32

// The levels in their order; SQLite never asks for LockPending.
const (
	LockNone LockLevel = iota
	LockShared
	LockReserved
	LockPending
	LockExclusive
)

// FS is where SQLite's files are. An error that is a [Code] is told to SQLite as that code.
type FS interface {
	// Full is the absolute form of a name.
	Full(name string) string
	Exists(name string) bool
	Delete(name string) error
	// Open opens a file; the name "" stands for a temporary file. The flags it returns say how it was opened.
	Open(name string, flags OpenFlag) (File, OpenFlag, error)
}

// File is an open file of an [FS]. The slices it is given are not SQLite's memory.
type File interface {
	io.ReaderAt // io.EOF for a read that ends behind the file's last byte
	io.WriterAt
	io.Closer
	Truncate(size int64) error
	Size() (int64, error)
	Lock(LockLevel) error
	Unlock(LockLevel) error
	Reserved() bool // whether a connection holds at least LockReserved
}

// code is what SQLite is told of an error.
func code(err error, other Code) int32 {
	var c Code
	switch {
	case err == nil:
		return 0
	case errors.As(err, &c):
		return int32(c)
	}
	return int32(other)
}

// Every VFS is the connection's file system.
func (e *env) Xgo_vfs_find(int32) int32 { return 1 }

func (e *env) Xgo_full_pathname(_, name, size, full int32) int32 {
	path := e.conn.fs.Full(string(e.cstring(name)))
	if len(path) >= int(size) {
		return int32(CantOpen)
	}
	e.put(full, path)
	return 0
}

func (e *env) Xgo_access(_, name, _, result int32) int32 {
	found := int32(0)
	if e.conn.fs.Exists(string(e.cstring(name))) {
		found = 1
	}
	e.put32(result, found)
	return 0
}

func (e *env) Xgo_delete(_, name, _ int32) int32 {
	return code(e.conn.fs.Delete(string(e.cstring(name))), ioErrDelete)
}

// A struct go_file of the library holds a handle behind its methods.
const handleOffset = 4

func (e *env) file(p int32) File { return e.conn.files[e.get32(p+handleOffset)] }

func (e *env) Xgo_open(_, name, file, flags, outFlags, _ int32) int32 {
	path := ""
	if name != 0 {
		path = string(e.cstring(name))
	}
	f, got, err := e.conn.fs.Open(path, OpenFlag(flags))
	if err != nil {
		return code(err, CantOpen)
	}
	e.conn.handle++
	e.conn.files[e.conn.handle] = f
	e.put32(file+handleOffset, e.conn.handle)
	if outFlags != 0 {
		e.put32(outFlags, int32(got))
	}
	return 0
}

func (e *env) Xgo_close(file int32) int32 {
	h := e.get32(file + handleOffset)
	f := e.conn.files[h]
	delete(e.conn.files, h)
	return code(f.Close(), ioErrClose)
}

// buffer is n bytes for a file to read or write. A file must not touch SQLite's memory, which may be taken away at any
// moment: the fault would leave the file system's locks locked.
func (e *env) buffer(n int32) []byte {
	if int(n) > len(e.page) {
		e.page = make([]byte, n)
	}
	return e.page[:n]
}

func (e *env) Xgo_read(file, to, n int32, off int64) int32 {
	b := e.buffer(n)
	k, err := e.file(file).ReadAt(b, off)
	out := e.bytes(to, n)
	copy(out, b[:k])
	if k == int(n) {
		return 0
	}
	clear(out[k:])
	if errors.Is(err, io.EOF) {
		return int32(ioErrShortRead)
	}
	return code(err, ioErrRead)
}

func (e *env) Xgo_write(file, from, n int32, off int64) int32 {
	b := e.buffer(n)
	copy(b, e.bytes(from, n))
	_, err := e.file(file).WriteAt(b, off)
	return code(err, ioErrWrite)
}

func (e *env) Xgo_truncate(file int32, size int64) int32 {
	return code(e.file(file).Truncate(size), ioErrTruncate)
}

func (e *env) Xgo_sync(int32, int32) int32 { return 0 }

func (e *env) Xgo_file_size(file, result int32) int32 {
	size, err := e.file(file).Size()
	e.put64(result, size)
	return code(err, ioErrStat)
}

func (e *env) Xgo_lock(file, level int32) int32 {
	return code(e.file(file).Lock(LockLevel(level)), ioErrLock)
}

func (e *env) Xgo_unlock(file, level int32) int32 {
	return code(e.file(file).Unlock(LockLevel(level)), ioErrUnlock)
}

func (e *env) Xgo_check_reserved_lock(file, result int32) int32 {
	held := int32(0)
	if e.file(file).Reserved() {
		held = 1
	}
	e.put32(result, held)
	return 0
}

func (e *env) Xgo_file_control(int32, int32, int32) int32 { return notFound }

func (e *env) Xgo_sector_size(int32) int32 { return 0 }

// A file of the sandbox keeps what is written, whole and in order.
func (e *env) Xgo_device_characteristics(int32) int32 {
	const atomic, safeAppend, sequential, powersafe = 0x1, 0x200, 0x400, 0x1000
	return atomic | safeAppend | sequential | powersafe
}

// Busy: SQLite asks whether to try again for a lock, after how many times and up to how many milliseconds.
func (e *env) Xgo_busy_timeout(count, ms int32) int32 {
	if count == 0 {
		e.busySince = time.Now()
	}
	if time.Since(e.busySince) >= time.Duration(ms)*time.Millisecond {
		return 0
	}
	e.conn.host.Wait(time.Millisecond)
	return 1
}

func (e *env) Xgo_sleep(_, micro int32) int32 {
	e.conn.host.Wait(time.Duration(micro) * time.Microsecond)
	return 0
}
