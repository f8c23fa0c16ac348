//go:build unix

package machine

import (
	"time"

	"golang.org/x/sys/unix"
)

// memory is a linear memory whose addresses are reserved, so that it grows without being moved.
type memory struct {
	all   []byte
	size  uint64
	grown func(uint64)
}

func newMemory(most uint64, grown func(uint64)) *memory {
	m := &memory{grown: grown}
	if all, err := unix.Mmap(-1, 0, int(max(most, 1)), unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE); err == nil {
		m.all = all
	}
	return m
}

// Reallocate makes the memory larger; nil says that it cannot be.
func (m *memory) Reallocate(size uint64) []byte {
	if size > uint64(len(m.all)) {
		return nil
	}
	if size > m.size {
		if err := unix.Mprotect(m.all[m.size:size], unix.PROT_READ|unix.PROT_WRITE); err != nil {
			return nil
		}
		m.size = size
		m.grown(size)
	}
	return m.all[:size:size]
}

// Free gives the memory back.
func (m *memory) Free() {
	if m.all != nil {
		_ = unix.Munmap(m.all)
		m.all = nil
	}
}

// processTime is the CPU time that this process has used.
func processTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// sleep holds a thread, and no timer.
func sleep(d time.Duration) {
	t := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&t, nil)
}

// niceness of machines: the gateway, which serves everybody, goes before them.
const niceness = 10

// lower lets everything else go first.
func lower() { _ = unix.Setpriority(unix.PRIO_PROCESS, 0, niceness) }
