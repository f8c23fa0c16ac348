package machine

import (
	"context"
	"errors"
	"testing"

	"github.com/pgbox/pgbox/gateway/shell/wasi"
)

// waits reports how many requests wait.
func (p *Pool) waits() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiting)
}

// enterLater asks for a place and says when it has it.
func enterLater(t *testing.T, p *Pool, ctx context.Context, owner string) chan error {
	t.Helper()
	n, ch := p.waits(), make(chan error, 1)
	go func() { ch <- p.enter(ctx, owner) }()
	for p.waits() == n && len(ch) == 0 {
	}
	return ch
}

// A place goes to the owner that has the fewest, in order of arrival; too many requests are refused, and one that is
// given up takes none.
func TestPlaces(t *testing.T) {
	ctx := t.Context()
	p := &Pool{cfg: Config{Most: 3, PerOwner: 2, Queue: 4}, owners: map[string]int{}}
	for _, owner := range []string{"a", "a", "b"} {
		if err := p.enter(ctx, owner); err != nil {
			t.Fatal(err)
		}
	}
	givenUp, giveUp := context.WithCancel(ctx)
	a, gone, b, c := enterLater(t, p, ctx, "a"), enterLater(t, p, givenUp, "c"), enterLater(t, p, ctx, "b"),
		enterLater(t, p, ctx, "c")
	if err := p.enter(ctx, "d"); !errors.Is(err, ErrBusy) {
		t.Errorf("the fifth that waits: %v", err)
	}
	giveUp()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	p.leave("a") // a has one left, b has one, c none
	if err := <-c; err != nil {
		t.Error(err)
	}
	p.leave("c")
	if err := <-a; err != nil { // a and b have one each: who came first
		t.Error(err)
	}
	p.leave("a")
	if err := <-b; err != nil {
		t.Error(err)
	}
	for _, owner := range []string{"a", "b", "b"} {
		p.leave(owner)
	}
	if p.running != 0 || len(p.owners) != 0 || p.waits() != 0 {
		t.Errorf("%d run, %v, %d wait", p.running, p.owners, p.waits())
	}
}

// What a machine sends is not trusted, and neither is the other direction: no frame makes either end fail otherwise
// than by an error.
func FuzzFrames(f *testing.F) {
	f.Add([]byte{5, 0, 0, 0, 1, 1, 2, 3, 4})
	f.Add([]byte{255, 255, 255, 255, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		r := &reader{data}
		for {
			_, frame, err := wasi.Receive(r, nil)
			if err != nil {
				break
			}
			frame.Bytes()
			frame.U64()
		}
		_, _ = wasi.ReceiveJob(&reader{data}, 1<<10)
	})
}

type reader struct{ b []byte }

func (r *reader) Read(b []byte) (int, error) {
	n := copy(b, r.b)
	r.b = r.b[n:]
	if n == 0 {
		return 0, errors.New("end")
	}
	return n, nil
}
