// The bounds of these tests are wall-clock times, and the race detector makes everything ten times slower: they run
// without it.

//go:build !race

package shell_test

import (
	"testing"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/proc"
)

// TestCalculatorsEnd runs programs of bc and dc that never end, or that would fill the memory.
func TestCalculatorsEnd(t *testing.T) {
	for name, script := range map[string]string{
		"bc loop":         `echo 'while (1) i += 1' | bc`,
		"bc recursion":    `printf 'define f(x) { return f(x+1)+1 }\nfor (;;) f(1)\n' | bc`,
		"bc growing":      `while :; do echo 'x = 2; while (1) { x = x * x; i += x }' | bc; done`,
		"bc array":        `echo 'for (i = 0; ; i++) { a[i % 16777215] = 2^1000 }' | bc`,
		"bc digits":       `echo 'scale = 100000; for (;;) { x = sqrt(2); y = 1 / 7 }' | bc`,
		"bc library":      `echo 'scale = 40000; for (;;) x = e(1) + l(2) + 4*a(1)' | bc -l`,
		"dc loop":         `dc -e '[lxx]sx lxx'`,
		"dc stack":        `dc -e '[1 d lxx]sx lxx'`,
		"dc nested":       `while :; do dc -e '[lxx 1]sx lxx'; done`,
		"dc long":         `dc -e '[d*lxx]sx 7 lxx'`,
		"dc power":        `dc -e '[2 1300000^ n lxx]sx lxx' > /dev/null`,
		"dc modular":      `dc -e '[3 2 100000^ 7 100000^ | n lxx]sx lxx' > /dev/null`,
		"bc deep source":  `printf '%0100000d' 0 | tr 0 '(' | bc; while :; do :; done`,
		"bc deep minuses": `printf '%0100000d' 0 | tr 0 - | bc; while :; do :; done`,
	} {
		t.Run(name, func(t *testing.T) {
			endsIn(t, proc.Limits{LiveBytes: 64 << 20}, 300*time.Millisecond, script)
		})
	}
}

// endsIn fails when a script ends by itself, or long after its time.
func endsIn(t *testing.T, l proc.Limits, timeout time.Duration, script string) {
	t.Helper()
	var took, most time.Duration
	for range attempts {
		o := runLimited(t, l, timeout, script)
		if o.err == nil {
			t.Fatalf("ended by itself: %.200q %.200q", o.out, o.errs)
		}
		if took, most = o.took, max(3*time.Second, 100*busyness()); took < most {
			return
		}
	}
	t.Errorf("took %v, has to be within %v", took, most)
}

// TestSQLiteEnds runs statements that never end, or want all memory.
func TestSQLiteEnds(t *testing.T) {
	for name, script := range map[string]string{
		"recursive query": `sqlite3 :memory: "with recursive c(n) as (select 1 union all select n+1 from c) select count(*) from c"`,
		"endless rows":    `sqlite3 :memory: "with recursive c(n) as (select 1 union all select n+1 from c) select n from c" > /dev/null`,
		"growing table":   `sqlite3 :memory: "create table t(a); with recursive c(n) as (select 1 union all select n+1 from c) insert into t select randomblob(1000) from c"; while :; do :; done`,
		"sorting":         `sqlite3 :memory: "with recursive c(n) as (select 1 union all select n+1 from c) select n from c order by random()"; while :; do :; done`,
		"like":            `sqlite3 :memory: "with recursive c(n) as (select 1 union all select n+1 from c) select count(*) from c where (hex(zeroblob(1000)) || n) like '%0%0%0%0%z'"`,
		"grid":            `sqlite3 -box :memory: "with recursive c(n) as (select 1 union all select n+1 from c) select n from c"`,
		"read itself":     `echo '.read r' > r; while :; do sqlite3 :memory: '.read r'; done`,
	} {
		t.Run(name, func(t *testing.T) {
			endsIn(t, proc.Limits{LiveBytes: 64 << 20}, 400*time.Millisecond, script)
		})
	}
}
