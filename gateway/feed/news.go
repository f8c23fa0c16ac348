package feed

import (
	"sync"

	"github.com/google/uuid"
)

// news tells followers of a sandbox that there is something new.
type news struct {
	mu   sync.Mutex
	subs map[uuid.UUID]map[chan struct{}]struct{}
}

// subscribe returns a channel that holds a token when something may be new. cancel must be called.
func (n *news) subscribe(id uuid.UUID) (<-chan struct{}, func()) {
	ch := make(chan struct{}, 1)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.subs == nil {
		n.subs = map[uuid.UUID]map[chan struct{}]struct{}{}
	}
	if n.subs[id] == nil {
		n.subs[id] = map[chan struct{}]struct{}{}
	}
	n.subs[id][ch] = struct{}{}
	return ch, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.subs[id], ch)
		if len(n.subs[id]) == 0 {
			delete(n.subs, id)
		}
	}
}

func (n *news) tell(id uuid.UUID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	wake(n.subs[id])
}

// all tells everybody, after something may have been missed.
func (n *news) all() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.subs {
		wake(s)
	}
}

func (n *news) count() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := 0
	for _, s := range n.subs {
		c += len(s)
	}
	return c
}

func wake(subs map[chan struct{}]struct{}) {
	for ch := range subs {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}
