package engine

import (
	"sync"

	"golang.org/x/sys/unix" //nolint:depguard // addresses of this process, nothing of the host
)

const pageSize = 64 << 10 // of WebAssembly

// memory is the linear memory of one SQLite.
type memory struct {
	buf  []byte // what SQLite may use; it begins at the start of all
	all  []byte // the reservation
	host Host

	mu     sync.Mutex // between the goroutine that uses the memory and the one that revokes it
	dead   bool
	closed bool
}

// newMemory reserves the addresses of max bytes. They cost nothing until they are used.
func newMemory(host Host, max int) (*memory, error) {
	b, err := unix.Mmap(-1, 0, max&^(pageSize-1), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, err
	}
	return &memory{buf: b[:0], all: b, host: host}, nil
}

// Slice is where SQLite finds its memory.
func (m *memory) Slice() *[]byte { return &m.buf }

// Grow adds pages and returns how many there were; -1 when there is no more, which SQLite answers with SQLITE_NOMEM.
func (m *memory) Grow(delta, _ int64) int64 {
	before := int64(len(m.buf)) / pageSize
	if delta == 0 {
		return before
	}
	end := (before + delta) * pageSize
	if delta < 0 || end > int64(len(m.all)) || !m.host.Grow(int(delta*pageSize)) {
		return -1
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead || unix.Mprotect(m.all[len(m.buf):end], unix.PROT_READ|unix.PROT_WRITE) != nil {
		m.host.Grow(-int(delta * pageSize))
		return -1
	}
	m.buf = m.all[:end]
	return before
}

// revoke makes every access a fault. It may be called by any goroutine.
func (m *memory) revoke() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.closed {
		m.dead = true
		_ = unix.Mprotect(m.all, unix.PROT_NONE)
	}
}

func (m *memory) revoked() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dead
}

func (m *memory) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	m.closed = true
	m.host.Grow(-len(m.buf))
	_ = unix.Munmap(m.all)
	m.buf, m.all = nil, nil
}
