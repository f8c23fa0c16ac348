package proc

import (
	"context"
	"sync"
	"sync/atomic"
)

// Locks are the advisory locks of one exec's files, as flock(2) has them: a lock belongs to an open file description.
// The zero value holds none.
type Locks struct {
	held  atomic.Int32
	mu    sync.Mutex
	files map[uint64]map[any]bool // by inode: who has it, and whether exclusively
	freed chan struct{}           // closed when a lock was given up
}

// Lock gets a lock of an inode for owner, in place of the one it may have. It waits until ctx is done, or not at all
// without wait; false means that somebody else has it.
func (l *Locks) Lock(ctx context.Context, ino uint64, owner any, exclusive, wait bool) bool {
	for {
		freed, ok := l.try(ino, owner, exclusive)
		if ok || !wait {
			return ok
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return false
		}
	}
}

func (l *Locks) try(ino uint64, owner any, exclusive bool) (freed <-chan struct{}, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	holders := l.files[ino]
	for other, alone := range holders {
		if other != owner && (alone || exclusive) {
			if l.freed == nil {
				l.freed = make(chan struct{})
			}
			return l.freed, false
		}
	}
	if holders == nil {
		if l.files == nil {
			l.files = map[uint64]map[any]bool{}
		}
		holders = map[any]bool{}
		l.files[ino] = holders
	}
	if _, had := holders[owner]; !had {
		l.held.Add(1)
	}
	holders[owner] = exclusive
	if !exclusive {
		l.wake() // it may have been exclusive before
	}
	return nil, true
}

func (l *Locks) wake() {
	if l.freed != nil {
		close(l.freed)
		l.freed = nil
	}
}

// Release gives up what owner holds.
func (l *Locks) Release(owner any) {
	if l.held.Load() == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for ino, holders := range l.files {
		if _, ok := holders[owner]; !ok {
			continue
		}
		delete(holders, owner)
		if len(holders) == 0 {
			delete(l.files, ino)
		}
		l.held.Add(-1)
		l.wake()
	}
}
