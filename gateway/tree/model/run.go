package model

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pgbox/pgbox/gateway/vfs"
)

// Config of a [Run].
type Config struct {
	Seed uint64
	Ops  int // operations to run
	Gen  func(*Generator)
	// Exact compares all times: the target's clock is the number of the operation, from 1. Without it only times
	// that utimes set are compared.
	Exact bool
	// DumpEvery is how many operations lie between two comparisons of the whole tree; 0 is 50.
	DumpEvery int
	// Start is what the target holds at the start; nil is Root.
	Start []Entry
	// Read returns the content of a regular file of Start.
	Read     func(path string) []byte
	UID, GID uint32 // of new files
	// New makes a fresh target in the state of Start, for shrinking; nil: the operations are printed as they are.
	New func() Target
	// Between is called after each operation, with its number from 1: to fork, commit, reload the target.
	Between func(n int)
}

// Run applies random operations to a model and to the target and fails t on the first difference.
func Run(t testing.TB, c Config, target Target) {
	t.Helper()
	if c.DumpEvery == 0 {
		c.DumpEvery = 50
	}
	if c.Start == nil {
		c.Start = Root()
	}
	g := NewGenerator(c.Seed)
	if c.Gen != nil {
		c.Gen(g)
	}
	m := New(c.Start, c.Read, c.UID, c.GID)
	var ops []Op
	for i := range c.Ops {
		op := g.Next(m)
		ops = append(ops, op)
		diff := c.step(m, target, op, (i+1)%c.DumpEvery == 0 || i+1 == c.Ops)
		if diff != "" {
			if c.New != nil {
				ops, diff = c.shrink(ops, diff)
			}
			t.Fatalf("seed %d: after %d operations the target differs from the model: %s\n%s", c.Seed, len(ops), diff, list(ops))
		}
		if c.Between != nil {
			c.Between(i + 1)
		}
	}
	t.Logf("seed %d: %d operations agree", c.Seed, c.Ops)
}

// step applies op to both and describes the first difference.
func (c *Config) step(m *Model, target Target, op Op, dump bool) string {
	want, wantErr := m.Apply(op)
	got, gotErr := target.Apply(op)
	if wantErr != gotErr {
		return fmt.Sprintf("%s: errno %s, want %s", op, errnoName(gotErr), errnoName(wantErr))
	}
	if diff := c.compare(want, got); diff != "" {
		return fmt.Sprintf("%s: %s", op, diff)
	}
	if dump {
		return c.compareDumps(m.Dump(), target.Dump())
	}
	return ""
}

func errnoName(e vfs.Errno) string {
	if e == 0 {
		return "success"
	}
	return e.Name()
}

func (c *Config) sameAttr(want, got Attr) bool {
	if !c.Exact && want.Mtime < UtimesFloor {
		got.Mtime = want.Mtime
	}
	return want == got
}

func (c *Config) compare(want, got Result) string {
	switch {
	case !bytes.Equal(want.Data, got.Data):
		return fmt.Sprintf("%d bytes of data, want %d; first difference at %d", len(got.Data), len(want.Data),
			firstDiff(got.Data, want.Data))
	case want.Text != got.Text:
		return fmt.Sprintf("text %q, want %q", short(got.Text), short(want.Text))
	case !c.sameAttr(want.Stat, got.Stat):
		return fmt.Sprintf("stat %+v, want %+v", got.Stat, want.Stat)
	case !slices.Equal(want.Names, got.Names):
		return fmt.Sprintf("names %v, want %v", got.Names, want.Names)
	}
	return ""
}

func firstDiff(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

func (c *Config) compareDumps(want, got []Entry) string {
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(want):
			return fmt.Sprintf("dump: more than the model has: %s", got[i])
		case i >= len(got):
			return fmt.Sprintf("dump: missing: %s", want[i])
		}
		w, g := want[i], got[i]
		same := c.sameAttr(w.Attr, g.Attr)
		w.Attr, g.Attr = Attr{}, Attr{}
		if !same || w != g {
			return fmt.Sprintf("dump:\n got %s\nwant %s", got[i], want[i])
		}
	}
	return ""
}

// shrink removes operations that are not needed for a difference, in ever smaller runs.
func (c *Config) shrink(ops []Op, diff string) ([]Op, string) {
	fails := func(ops []Op) string {
		m, target := New(c.Start, c.Read, c.UID, c.GID), c.New()
		for i, op := range ops {
			if d := c.step(m, target, op, i == len(ops)-1); d != "" {
				return d
			}
		}
		return ""
	}
	if d := fails(ops); d == "" {
		return ops, diff + " (not seen again on a fresh target)"
	}
	for size := len(ops) / 2; size > 0; size /= 2 {
		for at := 0; at+size <= len(ops); {
			less := slices.Concat(ops[:at], ops[at+size:])
			if d := fails(less); d != "" {
				ops, diff = less, d
			} else {
				at += size
			}
		}
	}
	return ops, diff
}

func list(ops []Op) string {
	var b strings.Builder
	from := max(0, len(ops)-200)
	if from > 0 {
		fmt.Fprintf(&b, "  … %d earlier operations\n", from)
	}
	for i, op := range ops[from:] {
		fmt.Fprintf(&b, "  %d. %s\n", from+i+1, op)
	}
	return b.String()
}
