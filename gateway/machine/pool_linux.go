package machine

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/pgbox/pgbox/gateway/confine"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/wasi"
)

// Config of a [Pool].
type Config struct {
	Sandbox    confine.Mode
	Dir        string   // where the programs are
	Programs   []string // that can be asked for
	Most       int      // machines that run at once; default 16
	PerOwner   int      // of them for one owner; default 8
	Queue      int      // requests that wait for one; default 256
	Executable string   // default: this one; it calls [Entry]
}

// ErrBusy: too many wait already.
var ErrBusy = errors.New("ERUNTIME_BUSY: too many programs are waiting for their turn; nothing was started")

// Pool hands machines out.
type Pool struct {
	cfg   Config
	nurse *nurse

	mu      sync.Mutex
	running int
	owners  map[string]int // machines that run, by owner
	waiting []*request     // in order of arrival
	idle    []*Machine     // oldest first
	closed  bool
}

type request struct {
	owner string
	place chan struct{} // closed when it has one
}

// NewPool starts a nurse, and one machine for each program.
func NewPool(cfg Config) (*Pool, error) {
	cfg.Most, cfg.PerOwner, cfg.Queue = cmp.Or(cfg.Most, 16), cmp.Or(cfg.PerOwner, 8), cmp.Or(cfg.Queue, 256)
	n, err := newNurse(cmp.Or(cfg.Executable, self), nurseArg, string(cfg.Sandbox), cfg.Dir)
	if err != nil {
		return nil, err
	}
	p := &Pool{cfg: cfg, nurse: n, owners: map[string]int{}}
	for _, name := range cfg.Programs {
		go p.spare(name)
	}
	return p, nil
}

// Source is Get, or nil of a nil pool.
func (p *Pool) Source() func(ctx context.Context, owner, program string) (proc.Machine, error) {
	if p == nil {
		return nil
	}
	return p.Get
}

// Close ends all machines.
func (p *Pool) Close() {
	if p == nil {
		return
	}
	p.mu.Lock()
	p.closed = true
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	for _, m := range idle {
		_ = m.conn.Close()
	}
	p.nurse.stop()
}

// Machine is a process that runs one program at a time.
type Machine struct {
	pool    *Pool
	id      uint64
	program string
	owner   string // "" for one that has run nothing yet
	conn    net.Conn
	in      *bufio.Reader

	mu   sync.Mutex
	done bool // released
}

func (m *Machine) Read(b []byte) (int, error)  { return m.in.Read(b) }
func (m *Machine) Write(b []byte) (int, error) { return m.conn.Write(b) }

// Get gives an owner a machine for a program, when there is a place for it.
func (p *Pool) Get(ctx context.Context, owner, program string) (proc.Machine, error) {
	if err := p.enter(ctx, owner); err != nil {
		return nil, err
	}
	m, err := p.find(ctx, owner, program)
	if err != nil {
		p.leave(owner)
		return nil, err
	}
	m.owner, m.done = owner, false
	return m, nil
}

// enter waits for a place.
func (p *Pool) enter(ctx context.Context, owner string) error {
	p.mu.Lock()
	if p.room(owner) {
		p.running++
		p.owners[owner]++
		p.mu.Unlock()
		return nil
	}
	if len(p.waiting) >= p.cfg.Queue {
		p.mu.Unlock()
		return ErrBusy
	}
	r := &request{owner, make(chan struct{})}
	p.waiting = append(p.waiting, r)
	p.mu.Unlock()
	var late <-chan time.Time
	if wasi.Nested(ctx) {
		late = time.After(nestedWait)
	}
	var err error
	select {
	case <-r.place:
		return nil
	case <-late:
		err = ErrBusy
	case <-ctx.Done():
		err = ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.waiting, r); i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
	} else {
		p.free(owner) // the place came at the same moment
	}
	return err
}

// nestedWait is how long a request may wait for whom a program waits that has a machine: all places may be held by such
// programs.
const nestedWait = 2 * time.Second

func (p *Pool) room(owner string) bool {
	return p.running < p.cfg.Most && p.owners[owner] < p.cfg.PerOwner
}

// leave gives a place back: to the one who waits whose owner has the fewest.
func (p *Pool) leave(owner string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free(owner)
}

func (p *Pool) free(owner string) {
	p.running--
	if p.owners[owner]--; p.owners[owner] == 0 {
		delete(p.owners, owner)
	}
	best := -1
	for i, r := range p.waiting {
		if p.room(r.owner) && (best < 0 || p.owners[r.owner] < p.owners[p.waiting[best].owner]) {
			best = i
		}
	}
	if best < 0 {
		return
	}
	r := p.waiting[best]
	p.waiting = slices.Delete(p.waiting, best, best+1)
	p.running++
	p.owners[r.owner]++
	close(r.place)
}

// find takes a machine that waits: one of the owner's, else a fresh one, which is replaced; or it starts one.
func (p *Pool) find(ctx context.Context, owner, program string) (*Machine, error) {
	p.mu.Lock()
	for _, of := range []string{owner, ""} {
		for i := len(p.idle) - 1; i >= 0; i-- {
			if m := p.idle[i]; m.program == program && m.owner == of {
				p.idle = append(p.idle[:i], p.idle[i+1:]...)
				p.mu.Unlock()
				if of == "" {
					go p.spare(program)
				}
				return m, nil
			}
		}
	}
	p.mu.Unlock()
	return p.start(ctx, program)
}

// spare keeps one fresh machine of a program.
func (p *Pool) spare(program string) {
	m, err := p.start(context.Background(), program)
	if err != nil {
		return // who asks for one will be told
	}
	p.keep(m)
}

// start starts a machine and waits until it is ready.
func (p *Pool) start(ctx context.Context, program string) (*Machine, error) {
	id, conn, err := p.nurse.start(program)
	if err != nil {
		return nil, err
	}
	m := &Machine{pool: p, id: id, program: program, conn: conn, in: bufio.NewReaderSize(conn, 64<<10)}
	stop := context.AfterFunc(ctx, m.end)
	kind, _, err := wasi.Receive(m.in, nil)
	if stop(); err != nil || kind != wasi.MsgReady {
		m.end()
		return nil, fmt.Errorf("%s could not be started", program)
	}
	return m, nil
}

// keep lets a machine wait for its next program. There are as many as may run at once; the one that has waited longest
// makes room.
func (p *Pool) keep(m *Machine) {
	p.mu.Lock()
	var old *Machine
	switch {
	case p.closed:
		old = m
	default:
		if len(p.idle) >= p.cfg.Most {
			old, p.idle = p.idle[0], p.idle[1:]
		}
		p.idle = append(p.idle, m)
	}
	p.mu.Unlock()
	if old != nil {
		old.end()
	}
}

func (m *Machine) end() {
	_ = m.conn.Close()
	m.pool.nurse.kill(m.id)
}

// Release gives the machine back: idle, to run another program of the same owner, or to be ended.
func (m *Machine) Release(idle bool) {
	m.mu.Lock()
	done := m.done
	m.done = true
	m.mu.Unlock()
	if done {
		return
	}
	owner := m.owner
	if idle {
		m.pool.keep(m)
	} else {
		m.end()
	}
	m.pool.leave(owner)
}
