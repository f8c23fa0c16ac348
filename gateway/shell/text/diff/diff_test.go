package diff_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pgbox/pgbox/gateway/shell/text/diff"
)

// TestAgainstDiff compares the choice of hunks with the real diff's on random edits.
func TestAgainstDiff(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	dir := t.TempDir()
	an, bn := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	const rounds = 300
	same := 0
	for range rounds {
		alphabet := 2 + r.IntN(60)
		a := make([]int, r.IntN(80))
		for i := range a {
			a[i] = 1 + r.IntN(alphabet)
		}
		b := mutate(r, a, alphabet)
		write(t, an, a)
		write(t, bn, b)
		out, _ := exec.Command("diff", an, bn).Output()
		var want []string
		for l := range strings.Lines(string(out)) {
			if l[0] >= '0' && l[0] <= '9' {
				want = append(want, strings.TrimSpace(l))
			}
		}
		changes := diff.Lines(a, b, diff.Options{})
		check(t, a, b, changes)
		if got := render(changes); strings.Join(got, " ") == strings.Join(want, " ") {
			same++
		} else if same+20 > rounds {
			t.Logf("%v\n%v\n got %v\nwant %v", a, b, got, want)
		}
	}
	if same < rounds*95/100 {
		t.Errorf("%d of %d alike", same, rounds)
	}
	t.Logf("%d of %d alike", same, rounds)
}

// TestCostIsBounded compares two large files that have nothing in order.
func TestCostIsBounded(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	a, b := r.Perm(20000), r.Perm(20000)
	work := 0
	changes := diff.Lines(a, b, diff.Options{Tick: func(n int) { work += n }})
	check(t, a, b, changes)
	if work > 60_000_000 {
		t.Errorf("%d units of work", work)
	}
}

// TestCancel stops a long search from its tick.
func TestCancel(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	defer func() {
		if recover() == nil {
			t.Error("went on after the tick had panicked")
		}
	}()
	diff.Lines(r.Perm(5000), r.Perm(5000), diff.Options{Tick: func(int) { panic("cancelled") }})
}

func mutate(r *rand.Rand, a []int, alphabet int) []int {
	var b []int
	for _, l := range a {
		switch r.IntN(12) {
		case 0:
		case 1:
			b = append(b, 1+r.IntN(alphabet))
		case 2:
			b = append(b, l, 1+r.IntN(alphabet+3))
		default:
			b = append(b, l)
		}
	}
	return b
}

func write(t *testing.T, name string, lines []int) {
	t.Helper()
	var b bytes.Buffer
	for _, l := range lines {
		b.WriteString(strconv.Itoa(l) + "\n")
	}
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// check applies the changes to a and expects b.
func check(t *testing.T, a, b []int, changes []diff.Change) {
	t.Helper()
	var got []int
	at := 0
	for _, c := range changes {
		got = append(got, a[at:c.A]...)
		if len(got) != c.B {
			t.Fatalf("change at %d of b, expected %d", c.B, len(got))
		}
		got = append(got, b[c.B:c.B+c.Ins]...)
		at = c.A + c.Del
	}
	got = append(got, a[at:]...)
	if fmt.Sprint(got) != fmt.Sprint(b) {
		t.Fatal("the changes do not make b")
	}
}

func render(changes []diff.Change) []string {
	span := func(start, n int) string {
		switch n {
		case 0:
			return strconv.Itoa(start)
		case 1:
			return strconv.Itoa(start + 1)
		}
		return fmt.Sprintf("%d,%d", start+1, start+n)
	}
	var out []string
	for _, c := range changes {
		op := "c"
		if c.Del == 0 {
			op = "a"
		} else if c.Ins == 0 {
			op = "d"
		}
		out = append(out, span(c.A, c.Del)+op+span(c.B, c.Ins))
	}
	return out
}
