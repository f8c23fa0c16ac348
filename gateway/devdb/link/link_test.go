package link_test

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"github.com/pgbox/pgbox/gateway/devdb/link"
)

// echo answers each line with itself until the test ends.
func echo(t *testing.T, prefix string) string {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				for r := bufio.NewReader(c); ; {
					s, err := r.ReadString('\n')
					if err != nil {
						return
					}
					_, _ = c.Write([]byte(prefix + s))
				}
			}()
		}
	}()
	return ln.Addr().String()
}

type peer struct {
	net.Conn
	r *bufio.Reader
}

func dial(t *testing.T, l *link.Link) *peer {
	t.Helper()
	c, err := new(net.Dialer).DialContext(context.Background(), "tcp", l.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &peer{c, bufio.NewReader(c)}
}

func (p *peer) ask(within time.Duration) (string, error) {
	if _, err := p.Write([]byte("x\n")); err != nil {
		return "", err
	}
	return p.hear(within)
}

func (p *peer) hear(within time.Duration) (string, error) {
	_ = p.SetReadDeadline(time.Now().Add(within))
	return p.r.ReadString('\n')
}

func open(t *testing.T, target string) *link.Link {
	t.Helper()
	l, err := link.New("test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	l.To("tcp", target)
	return l
}

const soon, long = 100 * time.Millisecond, 10 * time.Second

func mustAnswer(t *testing.T, p *peer, want string) {
	t.Helper()
	if got, err := p.ask(long); err != nil || got != want {
		t.Fatalf("%q, %v", got, err)
	}
}

func TestCut(t *testing.T) {
	l := open(t, echo(t, ""))
	p := dial(t, l)
	mustAnswer(t, p, "x\n")
	l.Cut()
	if _, err := p.hear(long); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the end was not told: %v", err)
	}
	// The reset may come while the connection is being made, or after.
	if c, err := new(net.Dialer).DialContext(t.Context(), "tcp", l.Addr()); err == nil {
		p := &peer{c, bufio.NewReader(c)}
		if _, err := p.ask(long); err == nil {
			t.Fatal("carried")
		}
		_ = c.Close()
	}
	l.Heal()
	mustAnswer(t, dial(t, l), "x\n")
}

func TestFreezeHoldsBackEitherDirection(t *testing.T) {
	for _, d := range [][2]bool{{true, false}, {false, true}, {true, true}} {
		l := open(t, echo(t, ""))
		p := dial(t, l)
		mustAnswer(t, p, "x\n")
		l.Freeze(d[0], d[1])
		if got, err := p.ask(soon); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("%v: %q, %v", d, got, err)
		}
		l.Heal()
		if got, err := p.hear(long); err != nil || got != "x\n" {
			t.Fatalf("%v: after the thaw: %q, %v", d, got, err)
		}
	}
}

func TestTripsCountsWhatAClientWaitsFor(t *testing.T) {
	message := func(kind byte, body string) []byte {
		return append(append([]byte{kind}, 0, 0, 0, byte(4+len(body))), body...)
	}
	all := append([]byte{0, 0, 0, 8}, "SQSQ"...) // what is sent first has no type
	for _, m := range [][]byte{message('P', "SSS"), message('B', ""), message('S', ""), message('Q', "QS"),
		message('E', "S"), message('S', "")} {
		all = append(all, m...)
	}
	for _, piece := range []int{1, 2, 3, 7, len(all)} {
		var trips link.Trips
		tap := trips.Tap()
		for b := all; len(b) > 0; {
			n := min(piece, len(b))
			tap(b[:n])
			b = b[n:]
		}
		if n := trips.Load(); n != 3 {
			t.Errorf("in pieces of %d: %d, want 3", piece, n)
		}
	}
}

func TestDelay(t *testing.T) {
	l := open(t, echo(t, ""))
	p := dial(t, l)
	l.Delay(60 * time.Millisecond)
	began := time.Now()
	mustAnswer(t, p, "x\n")
	if took := time.Since(began); took < 120*time.Millisecond {
		t.Fatalf("there and back in %v", took)
	}
}

func TestAbandonedCallersHearNothingAndNewOnesTheNewTarget(t *testing.T) {
	l := open(t, echo(t, "old "))
	p := dial(t, l)
	mustAnswer(t, p, "old x\n")
	l.Abandon()
	l.To("tcp", echo(t, "new "))
	if got, err := p.ask(soon); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("%q, %v", got, err)
	}
	mustAnswer(t, dial(t, l), "new x\n")
}
