package link_test

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"github.com/pgbox/pgbox/bench/cluster/link"
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
	if _, err := dial(t, l).ask(long); err == nil {
		t.Fatal("carried")
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
