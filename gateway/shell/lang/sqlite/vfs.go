package sqlite

import (
	"errors"
	"io"
	"sync"

	"github.com/pgbox/pgbox/gateway/shell/lang/sqlite/engine"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// tree is SQLite's file system: the sandbox's files as the process sees them.
type tree struct{ p *proc.Process }

func (t tree) Full(name string) string { return t.p.Abs(name) }

func (t tree) Delete(name string) error {
	err := t.p.FS.Unlink(name)
	if errors.Is(err, vfs.ENOENT) {
		return engine.NoSuchFile
	}
	return err
}

func (t tree) Exists(name string) bool {
	_, err := t.p.FS.Stat(name)
	return err == nil
}

func (t tree) Open(name string, flags engine.OpenFlag) (engine.File, engine.OpenFlag, error) {
	if name == "" {
		return &memory{p: t.p}, flags, nil
	}
	mode := vfs.ReadOnly
	if flags&engine.OpenReadWrite != 0 {
		mode = vfs.ReadWrite
	}
	if flags&engine.OpenCreate != 0 {
		mode |= vfs.Create
	}
	if flags&engine.OpenExclusive != 0 {
		mode |= vfs.Excl
	}
	if st, err := t.p.FS.Stat(name); err == nil && st.Mode&0o222 == 0 && flags&engine.OpenReadWrite != 0 {
		flags = flags&^(engine.OpenReadWrite|engine.OpenCreate) | engine.OpenReadOnly
		mode = vfs.ReadOnly
	}
	f, err := t.p.Open(name, mode, 0o644)
	if err != nil && flags&engine.OpenReadWrite != 0 && (errors.Is(err, vfs.EACCES) || errors.Is(err, vfs.EROFS)) {
		flags = flags&^(engine.OpenReadWrite|engine.OpenCreate) | engine.OpenReadOnly
		f, err = t.p.Open(name, vfs.ReadOnly, 0)
	}
	if err != nil {
		return nil, 0, engine.CantOpen
	}
	if st, err := f.Stat(); err != nil || st.Kind != vfs.Regular {
		f.Close()
		return nil, 0, engine.CantOpen
	}
	file := &file{f: f, t: t, name: name, temporary: flags&engine.OpenDeleteOnClose != 0, lock: locks.of(t.p.Budget, name)}
	return file, flags, nil
}

// file is an open file of the sandbox.
type file struct {
	f         vfs.File
	t         tree
	name      string
	temporary bool
	lock      *lock
	level     engine.LockLevel
}

func (f *file) Close() error {
	err := f.Unlock(engine.LockNone)
	locks.drop(f.t.p.Budget, f.name)
	f.f.Close()
	if f.temporary {
		err = errors.Join(err, f.t.p.FS.Unlink(f.name))
	}
	return err
}

// ReadAt reads until b is full or the file ends, as SQLite expects.
func (f *file) ReadAt(b []byte, off int64) (int, error) {
	n := 0
	for n < len(b) {
		k, err := f.f.ReadAt(b[n:], off+int64(n))
		n += k
		if errors.Is(err, io.EOF) || err == nil && k == 0 {
			return n, io.EOF
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

func (f *file) WriteAt(b []byte, off int64) (int, error) {
	n, err := f.f.WriteAt(b, off)
	return n, full(err)
}

// full tells SQLite that there is no room, or no permission.
func full(err error) error {
	switch {
	case errors.Is(err, vfs.ENOSPC) || errors.Is(err, vfs.EDQUOT) || errors.Is(err, vfs.EFBIG):
		return engine.Full
	case errors.Is(err, vfs.EROFS):
		return engine.ReadOnly
	}
	return err
}

func (f *file) Truncate(size int64) error { return full(f.f.Truncate(size)) }

func (f *file) Size() (int64, error) {
	st, err := f.f.Stat()
	return st.Size, err
}

// lock is SQLite's five-level lock of one file, among the processes of one exec.
type lock struct {
	users                        int
	shared                       int
	reserved, pending, exclusive *file
}

// lockTable holds the locks of every exec, by what is common to its processes.
type lockTable struct {
	mu sync.Mutex
	m  map[lockKey]*lock
}

type lockKey struct {
	exec *proc.Budget
	name string
}

var locks = &lockTable{m: map[lockKey]*lock{}}

func (t *lockTable) of(exec *proc.Budget, name string) *lock {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.m[lockKey{exec, name}]
	if l == nil {
		l = &lock{}
		t.m[lockKey{exec, name}] = l
	}
	l.users++
	return l
}

func (t *lockTable) drop(exec *proc.Budget, name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.m[lockKey{exec, name}]
	if l.users--; l.users == 0 {
		delete(t.m, lockKey{exec, name})
	}
}

func (f *file) Lock(level engine.LockLevel) error {
	locks.mu.Lock()
	defer locks.mu.Unlock()
	l := f.lock
	if level <= f.level {
		return nil
	}
	switch level {
	case engine.LockShared:
		if l.pending != nil || l.exclusive != nil {
			return engine.Busy
		}
		l.shared++
	case engine.LockReserved:
		if l.reserved != nil && l.reserved != f {
			return engine.Busy
		}
		l.reserved = f
	case engine.LockExclusive:
		if l.pending != nil && l.pending != f || l.reserved != nil && l.reserved != f {
			return engine.Busy
		}
		l.pending = f
		f.level = max(f.level, engine.LockPending)
		if l.shared > 1 {
			return engine.Busy
		}
		l.exclusive = f
	}
	f.level = level
	return nil
}

func (f *file) Unlock(level engine.LockLevel) error {
	locks.mu.Lock()
	defer locks.mu.Unlock()
	l := f.lock
	if level >= f.level {
		return nil
	}
	for _, held := range []**file{&l.reserved, &l.pending, &l.exclusive} {
		if *held == f {
			*held = nil
		}
	}
	if level == engine.LockNone && f.level >= engine.LockShared {
		l.shared--
	}
	f.level = level
	return nil
}

func (f *file) Reserved() bool {
	locks.mu.Lock()
	defer locks.mu.Unlock()
	return f.lock.reserved != nil || f.lock.pending != nil || f.lock.exclusive != nil
}

// memory is a temporary file, which only its connection sees.
type memory struct {
	p    *proc.Process
	b    []byte
	held int
}

func (m *memory) Close() error {
	m.p.Release(m.held)
	m.b, m.held = nil, 0
	return nil
}

func (m *memory) ReadAt(b []byte, off int64) (int, error) {
	if off >= int64(len(m.b)) {
		return 0, io.EOF
	}
	n := copy(b, m.b[off:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// grow makes room for n bytes. It must not panic here, below SQLite: the budget ends the process later.
func (m *memory) grow(n int) error {
	if n > cap(m.b) {
		room := max(n, 2*cap(m.b), 64<<10)
		if err := m.p.Budget.Hold(int64(room - m.held)); err != nil {
			m.p.Release(room - m.held)
			return engine.Full
		}
		m.held = room
		m.b = append(make([]byte, 0, room), m.b...)
	}
	if n > len(m.b) {
		m.b = m.b[:n]
	}
	return nil
}

func (m *memory) WriteAt(b []byte, off int64) (int, error) {
	if err := m.grow(int(off) + len(b)); err != nil {
		return 0, err
	}
	return copy(m.b[off:], b), nil
}

func (m *memory) Truncate(size int64) error {
	if int(size) < len(m.b) {
		clear(m.b[size:])
		m.b = m.b[:size]
	}
	return nil
}

func (m *memory) Size() (int64, error)          { return int64(len(m.b)), nil }
func (m *memory) Lock(engine.LockLevel) error   { return nil }
func (m *memory) Unlock(engine.LockLevel) error { return nil }
func (m *memory) Reserved() bool                { return false }
