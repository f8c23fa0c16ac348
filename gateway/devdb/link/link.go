// Package link is a TCP link between two programs that can be cut, delayed, frozen, watched and led elsewhere while it
// is in use. It is for tests and test beds.
package link

import (
	"context"
	"net"
	"strconv"
	"sync"
	"time"
)

// Link listens on a loopback port and carries what comes in to its target.
type Link struct {
	Name string

	ln net.Listener
	wg sync.WaitGroup

	mu      sync.Mutex
	target  [2]string // network, address
	tap     func() func(b []byte)
	fault   fault
	changed chan struct{} // closed when fault changes
	conns   map[*conn]struct{}
	closed  bool
}

// fault is what is wrong with a link. The zero fault is none.
type fault struct {
	cut    bool
	frozen [2]bool // by direction
	delay  time.Duration
}

// The directions of a connection.
const (
	toTarget = iota
	toCaller
)

// conn is one connection that is carried.
type conn struct {
	ends      [2]net.Conn // where what goes in a direction comes from
	over      chan struct{}
	end       func()
	tap       func(b []byte) // nil: nobody looks
	abandoned bool
}

// New returns a link without a target: connections are refused.
func New(name string) (*Link, error) {
	ln, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &Link{Name: name, ln: ln, changed: make(chan struct{}), conns: map[*conn]struct{}{}}
	l.wg.Go(l.serve)
	return l, nil
}

// Port is where the link listens on 127.0.0.1.
func (l *Link) Port() int { return l.ln.Addr().(*net.TCPAddr).Port }

// Addr is Port with the address.
func (l *Link) Addr() string { return "127.0.0.1:" + strconv.Itoa(l.Port()) }

// To leads new connections to another target. Those that are there stay what they are.
func (l *Link) To(network, address string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.target = [2]string{network, address}
}

// Tap shows what callers send on connections that are made from now on: each gets a function from tap, which sees the
// bytes in order, in whatever pieces they come.
func (l *Link) Tap(tap func() func(b []byte)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tap = tap
}

func (l *Link) set(change func(f *fault)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(&l.fault)
	close(l.changed)
	l.changed = make(chan struct{})
}

// Cut resets all connections and refuses new ones.
func (l *Link) Cut() {
	l.set(func(f *fault) { f.cut = true })
	l.Reset()
}

// Freeze lets nothing through any more, in one direction or both; connections stay open, and new ones open. It is what
// a broken route looks like: bytes arrive late, after Heal, or never.
func (l *Link) Freeze(toTarget, toCaller bool) {
	l.set(func(f *fault) { f.frozen = [2]bool{toTarget, toCaller} })
}

// Delay makes everything later, in both directions.
func (l *Link) Delay(d time.Duration) { l.set(func(f *fault) { f.delay = d }) }

// Heal ends Cut, Freeze and Delay.
func (l *Link) Heal() { l.set(func(f *fault) { *f = fault{} }) }

// Reset breaks the connections that are there; both sides are told.
func (l *Link) Reset() {
	for _, c := range l.all() {
		c.reset()
	}
}

// Abandon breaks the connections that are there and tells only the target: for the caller they stay open, and silent.
// It is what the death of a machine looks like.
func (l *Link) Abandon() {
	for _, c := range l.all() {
		l.mu.Lock()
		c.abandoned = true
		l.mu.Unlock()
		_ = c.ends[toCaller].Close()
	}
}

func (l *Link) all() []*conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]*conn, 0, len(l.conns))
	for c := range l.conns {
		out = append(out, c)
	}
	return out
}

// Close ends the link and its connections.
func (l *Link) Close() {
	_ = l.ln.Close()
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.Reset()
	l.wg.Wait()
}

func (l *Link) serve() {
	for {
		caller, err := l.ln.Accept()
		if err != nil {
			return
		}
		l.wg.Go(func() { l.carry(caller) })
	}
}

// dialTimeout bounds the connection to the target, which is on this machine.
const dialTimeout = 5 * time.Second

func (l *Link) carry(caller net.Conn) {
	l.mu.Lock()
	to, cut, tap := l.target, l.fault.cut, l.tap
	l.mu.Unlock()
	refuse := func() {
		if tcp, ok := caller.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = caller.Close()
	}
	if cut || to[0] == "" {
		refuse()
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	target, err := new(net.Dialer).DialContext(ctx, to[0], to[1])
	cancel()
	if err != nil {
		refuse()
		return
	}
	c := &conn{ends: [2]net.Conn{caller, target}, over: make(chan struct{})}
	if tap != nil {
		c.tap = tap()
	}
	c.end = sync.OnceFunc(func() { close(c.over) })
	l.mu.Lock()
	ok := !l.closed && !l.fault.cut
	if ok {
		l.conns[c] = struct{}{}
	}
	l.mu.Unlock()
	if !ok {
		_ = target.Close()
		refuse()
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() { l.pump(c, toTarget) })
	wg.Go(func() { l.pump(c, toCaller) })
	wg.Wait()
	_ = caller.Close()
	_ = target.Close()
	l.mu.Lock()
	delete(l.conns, c)
	l.mu.Unlock()
}

// reset breaks a connection in a way that both sides notice.
func (c *conn) reset() {
	c.end()
	for _, e := range c.ends {
		if tcp, ok := e.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = e.Close()
	}
}

// pump carries one direction of a connection until it ends.
func (l *Link) pump(c *conn, direction int) {
	from, to := c.ends[direction], c.ends[1-direction]
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && !l.pass(c, direction) {
			return
		}
		if n > 0 {
			if c.tap != nil && direction == toTarget {
				c.tap(buf[:n])
			}
			if _, werr := to.Write(buf[:n]); werr != nil && err == nil {
				err = werr
			}
		}
		if err == nil {
			continue
		}
		if l.isAbandoned(c) {
			// The caller finds out by itself that nobody is there, or gives up.
			if direction == toTarget {
				l.swallow(c, buf)
			}
			return
		}
		// An end is news too, and travels like the rest.
		if l.pass(c, direction) {
			c.end()
			_ = to.Close()
			_ = from.Close()
		}
		return
	}
}

func (l *Link) isAbandoned(c *conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return c.abandoned
}

// swallow takes what the caller of an abandoned connection sends.
func (l *Link) swallow(c *conn, buf []byte) {
	for {
		if _, err := c.ends[toTarget].Read(buf); err != nil {
			c.end()
			return
		}
	}
}

// pass waits until something may go in a direction; false when the connection has ended meanwhile.
func (l *Link) pass(c *conn, direction int) bool {
	for {
		l.mu.Lock()
		f, changed := l.fault, l.changed
		l.mu.Unlock()
		if f.frozen[direction] {
			select {
			case <-changed:
				continue
			case <-c.over:
				return false
			}
		}
		if f.delay > 0 {
			t := time.NewTimer(f.delay)
			select {
			case <-t.C:
			case <-c.over:
				t.Stop()
				return false
			}
		}
		return true
	}
}
