package store_test

import (
	"bytes"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

// cut is where the proxy breaks a connection.
type cut int

const (
	cutBefore cut = iota // the request is lost on the way
	cutHalf              // half of it arrives
	cutAfter             // it arrives, its answer does not
	cutLate              // it arrives when deliver is closed, long after the client has given up
)

// proxy stands between a pool and Postgres and breaks one connection at the request that holds a marker.
type proxy struct {
	ln     net.Listener
	target [2]string // network, address
	wg     sync.WaitGroup

	mu      sync.Mutex
	marker  []byte // nil: nothing to break
	where   cut
	dark    bool          // refuse everything after the break
	broken  chan struct{} // closed at the break
	deliver chan struct{}
	conns   map[net.Conn]struct{}
}

// newProxy returns a proxy and the URL that leads through it.
func newProxy(t *testing.T, direct string) (*proxy, string) {
	t.Helper()
	u, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	host, port := q.Get("host"), q.Get("port")
	if host == "" {
		host, port = u.Hostname(), u.Port()
	}
	p := &proxy{conns: map[net.Conn]struct{}{}, deliver: make(chan struct{}),
		target: [2]string{"tcp", net.JoinHostPort(host, port)}}
	if host[0] == '/' {
		p.target = [2]string{"unix", filepath.Join(host, ".s.PGSQL."+port)}
	}
	dir, err := os.MkdirTemp("", "px")
	if err != nil {
		t.Fatal(err)
	}
	if p.ln, err = net.Listen("unix", filepath.Join(dir, ".s.PGSQL.1")); err != nil {
		t.Fatal(err)
	}
	// A PgBouncer that root starts runs as another user.
	for _, name := range []string{dir, p.ln.Addr().String()} {
		if err := os.Chmod(name, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	p.wg.Go(p.serve)
	t.Cleanup(func() {
		_ = p.ln.Close()
		p.mu.Lock()
		for c := range p.conns {
			_ = c.Close()
		}
		p.mu.Unlock()
		p.wg.Wait()
		_ = os.RemoveAll(dir)
	})
	q.Set("host", dir)
	q.Set("port", "1")
	u.RawQuery, u.Host = q.Encode(), ""
	return p, u.String()
}

// breakAt makes the next request that holds marker break its connection.
func (p *proxy) breakAt(marker string, where cut, dark bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.marker, p.where, p.dark, p.broken = []byte(marker), where, dark, make(chan struct{})
}

// wantBroken fails unless it has.
func (p *proxy) wantBroken(t *testing.T) {
	t.Helper()
	select {
	case <-p.broken:
	default:
		t.Fatal("the connection was not broken")
	}
}

// light ends the darkness after a break.
func (p *proxy) light() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dark = false
}

func (p *proxy) serve() {
	for {
		c, err := p.ln.Accept()
		if err != nil {
			return
		}
		s, err := net.Dial(p.target[0], p.target[1])
		p.mu.Lock()
		refuse := err != nil || p.dark && p.marker == nil
		if !refuse {
			p.conns[c], p.conns[s] = struct{}{}, struct{}{}
		}
		p.mu.Unlock()
		if refuse {
			_ = c.Close()
			if err == nil {
				_ = s.Close()
			}
			continue
		}
		mute := new(atomic.Bool)
		p.wg.Go(func() { p.forward(c, s, mute) })
		p.wg.Go(func() {
			answer(c, s, mute)
			_ = c.Close()
			_ = s.Close()
		})
	}
}

// hit reports whether b is the request to break at.
func (p *proxy) hit(b []byte) (cut, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.marker == nil || !bytes.Contains(b, p.marker) {
		return 0, false
	}
	p.marker = nil
	close(p.broken)
	return p.where, true
}

// answer carries what the server says to the client until mute is set.
func answer(c, s net.Conn, mute *atomic.Bool) {
	buf := make([]byte, 64<<10)
	for {
		n, err := s.Read(buf)
		if err != nil || mute.Load() {
			return
		}
		if _, err := c.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (p *proxy) forward(c, s net.Conn, mute *atomic.Bool) {
	buf := make([]byte, 1<<20)
	for {
		n, err := c.Read(buf)
		if err != nil {
			_ = s.Close()
			return
		}
		b := buf[:n]
		if where, ok := p.hit(b); ok {
			switch where {
			case cutBefore:
				_ = c.Close()
				_ = s.Close()
			case cutHalf:
				_, _ = s.Write(b[:n/2])
				_ = c.Close()
				_ = s.Close()
			case cutAfter:
				mute.Store(true)
				_, _ = s.Write(b)
			case cutLate:
				mute.Store(true)
				_ = c.Close()
				<-p.deliver
				_, _ = s.Write(b)
			}
			return
		}
		if _, err := s.Write(b); err != nil {
			return
		}
	}
}
