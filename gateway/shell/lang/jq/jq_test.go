package jq

import (
	"context"
	"errors"
	"io"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/proc"
)

// run evaluates src on input under a budget and returns its results, one per line; a death is an error.
func run(tb testing.TB, limits proc.Limits, src, input string) (out string, err error) {
	tb.Helper()
	ctx, b := proc.NewBudget(context.Background(), limits)
	defer b.Close()
	defer func() {
		if r := recover(); r != nil {
			d, ok := r.(proc.Death)
			if !ok {
				panic(r)
			}
			err = d.Cause
		}
	}()
	step := func(n int) {
		if err := proc.TurnOf(ctx).Step(int64(n)); err != nil {
			panic(proc.Death{Killed: true, Cause: err})
		}
	}
	hold := func(n int) {
		if err := b.Hold(int64(n)); err != nil {
			panic(proc.Death{Killed: true, Cause: err})
		}
	}
	prog, err := Compile(src, nil, nil, nil, true, Meter{step, hold})
	if err != nil {
		return "", err
	}
	v, err := parseText(input, step, hold, true)
	if err != nil {
		return "", err
	}
	inputs := 0
	m := &Machine{
		Tick: step, Hold: hold, Release: func(n int) { b.Release(int64(n)) }, Literals: true,
		Input: func() (any, bool, error) { inputs++; return float64(inputs), inputs <= 125_000, nil },
		File:  func() any { return nil }, Line: func() float64 { return 0 }, Debug: func(any) {}, Warn: func(any) {},
		Now: func() float64 { return 0 }, Env: NewObject(),
	}
	var sb strings.Builder
	err = m.Eval(prog, v, func(x any) error {
		s := text(x)
		hold(len(s))
		sb.WriteString(s + "\n")
		return nil
	})
	return sb.String(), err
}

func TestLimits(t *testing.T) {
	limits := proc.Limits{Steps: 1_000_000, LiveBytes: 32 << 20}
	for name, src := range map[string]string{
		"endless loop":          `[limit(1; repeat(empty))] | last(range(1e18))`,
		"endless collection":    `[range(1e12)]`,
		"doubling string":       `reduce range(60) as $i ("x"; . + .)`,
		"doubling array":        `reduce range(60) as $i ([1]; . + .)`,
		"repeated string":       `"x" * 1e10`,
		"huge index":            `.[60000000] = 1`,
		"endless recursion":     `def f: f; f`,
		"recursion with work":   `def f: 1 + f; f`,
		"deep value":            `reduce range(1e9) as $i (null; [.])`,
		"deep until":            `until(false; {a: .})`,
		"deep setpath":          `reduce range(100) as $i (null; {a: .}) | until(false; setpath(["b"]; .))`,
		"growing state":         `reduce range(1e12) as $i ({}; .["k\($i)"] = "some value \($i)")`,
		"combinations":          `[range(100)] | [combinations(100)]`,
		"join":                  `[range(1000) | "x" * 100000] | join("y")`,
		"function that doubles": `def f: [f, f]; f`,
		"slices":                `[range(50000)] | .[range(length) | {start: ., end: (. + 1)}] = [1, 2]`,
		"copies":                `[range(1000)] as $a | [range(1e9) | $a | .[0] = 1]`,
		"versions":              `[foreach range(1e9) as $i ([range(10000)]; .[$i % 10000] = 1)] | map(tojson)`,
		"sub":                   `"a" * 1000000 | gsub("a"; "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb")`,
		"entries":               `[range(1e9) | {a: .}]`,
		"indices":               `[range(100000) | 0] | indices([range(50000) | 0])`,
		"contains":              `[range(100000)] as $a | $a | contains($a)`,
		"subtraction":           `[range(100000)] - [range(100000) | -1 - .]`,
		"paths":                 `reduce range(10000) as $i (0; [.]) | [paths]`,
		"nested labels":         `def f: label $x | 1 + f; f`,
		"nested tries":          `def f: try (1 + f) catch .; f`,
		"regular expression":    `"a" * 100000 | [match("(a|aa)*"; "g")] | until(false; ("a" * 1000 | test("(a*)*b")))`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := run(t, limits, src, "null")
			if err == nil {
				t.Fatalf("ended with %.100q", out)
			}
		})
	}
}

// TestSharing checks that values that share storage do not see each other's changes.
// TestMemoryIsCounted: what grows is ended by its size, long before its steps would end it.
func TestMemoryIsCounted(t *testing.T) {
	t.Parallel()
	for _, src := range []string{
		`[range(1e12)]`, `reduce range(60) as $i ("x"; . + .)`,
		`reduce range(1e12) as $i ({}; .["k\($i)"] = "some value \($i)")`, `[range(1e9) | {a: .}]`, `def f: 1 + f; f`,
		`"x" * 1e10`,
	} {
		_, err := run(t, proc.Limits{Steps: 20_000_000, LiveBytes: 32 << 20}, src, "null")
		if l, ok := proc.IsLimit(err); !ok || l.Name != "live bytes" {
			t.Errorf("%s ended with %v", src, err)
		}
	}
}

func TestSharing(t *testing.T) {
	m := &Machine{Tick: noTick, Hold: noTick, Release: noTick}
	check := func(v any, want string) {
		t.Helper()
		if got := text(v); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	a := m.concat(NewArray([]any{0.0}), []any{1.0})
	b := m.concat(a, []any{2.0})
	c := m.setAt(b, 0, 9.0)
	d := m.setAt(c, 2, 8.0)
	e := m.concat(d, []any{7.0})
	check(a, "[0,1]")
	f := m.concat(a, []any{3.0})
	check(b, "[0,1,2]")
	check(c, "[9,1,2]")
	check(d, "[9,1,8]")
	check(e, "[9,1,8,7]")
	check(f, "[0,1,3]")
	check(m.setAt(b, 1, 5.0), "[0,5,2]")
	check(b, "[0,1,2]")
	check(e, "[9,1,8,7]")

	x := m.concatText(strings.Repeat("a", 600), "b")
	y, z := m.concatText(x, "c"), m.concatText(x, "d")
	if w := m.concatText(y, "e"); !strings.HasSuffix(w, "abce") || !strings.HasSuffix(y, "abc") ||
		!strings.HasSuffix(z, "abd") || len(x) != 601 {
		t.Errorf("texts: %s %s %s", y[598:], z[598:], w[598:])
	}

	o := NewObject()
	for i := range 20 {
		o = m.setKey(o, strings.Repeat("k", i+1), float64(i))
	}
	all := text(o)
	p := m.setKey(o, "x", 1.0)
	q := m.setKey(o, "y", 2.0)
	r := m.setKey(m.setKey(p, "k", 9.0), "z", 3.0)
	for _, bad := range []struct {
		o   *Object
		key string
	}{{o, "x"}, {o, "y"}, {p, "y"}, {q, "x"}, {r, "y"}, {o, "z"}, {p, "z"}} {
		if _, ok := bad.o.Get(bad.key); ok {
			t.Errorf("%s has %q", text(bad.o), bad.key)
		}
	}
	check(o, all)
	if v, _ := p.Get("k"); v != 0.0 {
		t.Errorf("an update showed in the original: %v", v)
	}
	if v, _ := r.Get("k"); v != 9.0 {
		t.Errorf("an update was lost: %v", v)
	}
}

// What other versions of jq have beside those of the one that the cases come from, and what its library of C has
// otherwise.
func TestBesideTheOracle(t *testing.T) {
	for _, c := range []struct{ src, in, want string }{
		{`toarray, ([1] | toarray)`, `1`, "[1]\n[1]\n"},
		{`@base32, (@base32 | @base32d)`, `"hello"`, "\"NBSWY3DP\"\n\"hello\"\n"},
		{`65 | ascii`, `null`, "\"A\"\n"},
		{`[leaf_paths]`, `{"a":[1]}`, "[[\"a\",0]]\n"},
		{`from_entries`, `[{"k":"a","v":1},{"name":"b","value":false}]`, "{\"a\":1,\"b\":false}\n"},
		{`1425599621 | date, dateadd("seconds"; 10), datesub("seconds"; 10)`, `null`,
			"\"2015-03-05T23:53:41Z\"\n1425599631\n1425599611\n"},
		{`strptime("%Y"), strptime("%Y-%m")?`, `"2015"`, "[2015,0,0,0,0,0,3,-1]\n"},
		{`strptime("%H:%M")`, `"10:20"`, "[1900,0,0,10,20,0,8,367]\n"},
		{`strptime("%s") | mktime`, `"1425599621"`, "1425599621\n"},
		{`strftime("%H %Z"), strflocaltime("%H %Z")`, `0`, "\"00 UTC\"\n\"00 UTC\"\n"},
		{`reduce range(10002) as $i (1; [.]) | tojson | .[9999:10022]`, `null`, "\"[[<skipped: too deep>]]\"\n"},
	} {
		got, err := run(t, proc.Limits{}, c.src, c.in)
		if err != nil || got != c.want {
			t.Errorf("%s of %s: got %q, %v; want %q", c.src, c.in, got, err, c.want)
		}
	}
}

// smallStack makes a recursion that goes on with its input end the test.
func smallStack(t *testing.T) {
	t.Helper()
	old := debug.SetMaxStack(64 << 20)
	t.Cleanup(func() { debug.SetMaxStack(old) })
}

// What is deep in a program's way of working, or in its values, takes no stack.
func TestDepth(t *testing.T) {
	smallStack(t)
	deep := `reduce range(99000) as $i (0; [.])`
	for name, c := range map[string]struct{ src, want string }{
		"until":    {`0 | until(. >= 150000; . + 1)`, "150000"},
		"while":    {`[0 | while(. < 150000; . + 1)] | length`, "150000"},
		"recurse":  {`[0 | recurse(if . < 150000 then . + 1 else empty end)] | length`, "150001"},
		"limit":    {`[limit(150000; repeat(1))] | length`, "150000"},
		"inputs":   {`[inputs] | length`, "125000"},
		"input":    {`def r: (try input catch null) | if . then . + 0 | r else 7 end; r`, "7"},
		"calls":    {`def f: if . > 0 then (. - 1 | f) + 1 else 0 end; 150000 | f`, "150000"},
		"closures": {`def f(g): if . > 0 then . - 1 | f(g + 0) else g end; 3000 | f(.)`, "0"},
		"labels":   {`def f: label $x | if . > 0 then . - 1 | f else 1 end; 150000 | f`, "1"},
		"tries": {`def f: try (if . > 0 then . - 1 | f else error("x") end) catch error; try (100000 | f) catch .`,
			`"x"`},
		"values":         {deep + ` | tojson | length > 20000`, "true"},
		"compared":       {`(` + deep + `) == (` + deep + `)`, "true"},
		"sorted":         {`[` + deep + `, ` + deep + `] | unique | length`, "1"},
		"contained":      {deep + ` | contains([[]])`, "true"},
		"flattened":      {deep + ` | flatten`, "[0]"},
		"walked":         {`reduce range(30000) as $i (0; [.]) | walk(.) | [..] | length`, "30001"},
		"listed":         {`reduce range(99000) as $i (0; [.]) | [..] | length`, "99001"},
		"paths":          {`reduce range(3000) as $i (0; [.]) | last(paths) | length`, "3000"},
		"getpath":        {deep + ` | getpath([range(99000) | 0])`, "0"},
		"setpath":        {deep + ` | setpath([range(99000) | 0]; 1) | getpath([range(99000) | 0])`, "1"},
		"delpaths":       {`reduce range(99000) as $i (0; [.]) | delpaths([[range(99000) | 0]]) | [..] | length`, "99000"},
		"pipes":          {strings.Repeat("1|", 200_000) + "2", "2"},
		"sums":           {`0` + strings.Repeat("+1", 200_000), "200000"},
		"alternatives":   {`[` + strings.Repeat("1,", 200_000) + `2] | length`, "200001"},
		"bindings":       {strings.Repeat("1 as $x|", 50_000) + "$x", "1"},
		"fields":         {`null | ` + strings.Repeat(".a", 200_000), "null"},
		"regexp":         {`"a" * 100000 | test("^(a|b)*$")`, "true"},
		"backtracking":   {`"a" * 1000000 | test("(a*)*c")`, "false"},
		"nested regexps": {`try test("(" * 100000 + ")" * 100000) catch "no"`, `"no"`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := run(t, proc.Limits{LiveBytes: 1 << 30}, c.src, `"a"`)
			if err != nil || got != c.want+"\n" {
				t.Errorf("got %.100q, %v; want %s", got, err, c.want)
			}
		})
	}
}

// Ten times as deep as what is bounded.
func TestBoundsOfDepth(t *testing.T) {
	smallStack(t)
	for name, c := range map[string]struct{ src, in, want string }{
		"value":    {`reduce range(1000000) as $i (0; [.])`, "null", "Value nested too deeply"},
		"object":   {`reduce range(1000000) as $i (0; {a: .})`, "null", "Value nested too deeply"},
		"path":     {`setpath([range(1000000) | "a"]; 1)`, "null", "Path too deep"},
		"input":    {`.`, strings.Repeat("[", 100_000), "Exceeds depth limit for parsing at line 1, column 10001"},
		"objects":  {`.`, strings.Repeat(`{"a":`, 100_000), "Exceeds depth limit for parsing at line 1, column 50001"},
		"fromjson": {`try fromjson catch .[:31]`, `"` + strings.Repeat("[", 100_000) + `"`, ""},
		"calls":    {strings.Repeat("f(", 30_000) + "1" + strings.Repeat(")", 30_000), "null", "program nested too deeply"},
		"ifs": {strings.Repeat("if 1 then ", 30_000) + "1" + strings.Repeat(" end", 30_000), "null",
			"program nested too deeply"},
		"elifs": {"if 1 then 1" + strings.Repeat(" elif 1 then 1", 30_000) + " end", "null", "program nested too deeply"},
		"functions": {strings.Repeat("def f: ", 30_000) + "1" + strings.Repeat("; f", 30_000), "null",
			"program nested too deeply"},
		"patterns": {". as " + strings.Repeat("[", 30_000) + "$x" + strings.Repeat("]", 30_000) + " | 1", "null",
			"program nested too deeply"},
		"strings": {strings.Repeat(`"\(`, 30_000) + "1" + strings.Repeat(`)"`, 30_000), "null", "program nested too deeply"},
		"tries":   {strings.Repeat("try ", 30_000) + "1", "null", "program nested too deeply"},
		"powers":  {strings.Repeat("1 // ", 30_000) + "1", "null", "program nested too deeply"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := run(t, proc.Limits{LiveBytes: 1 << 30}, c.src, c.in)
			if c.want == "" {
				if err != nil || got != "\"Exceeds depth limit for parsing\"\n" {
					t.Errorf("got %.100q, %v", got, err)
				}
			} else if err == nil || err.Error() != c.want {
				t.Errorf("got %.100q, %.100v; want %s", got, err, c.want)
			}
		})
	}
}

// steps is how much work src counts, with the memory it held in the end.
func steps(t *testing.T, src string) int64 {
	t.Helper()
	var n int64
	tick := func(k int) { n += int64(k) }
	m := &Machine{Tick: tick, Hold: noTick, Release: noTick, Env: NewObject()}
	p, err := Compile(src, nil, nil, nil, true, free)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Eval(p, nil, func(any) error { return nil }); err != nil {
		t.Fatal(err)
	}
	return n
}

// Ten times as many elements are ten times the work, not a hundred.
func TestLinear(t *testing.T) {
	for name, src := range map[string]string{
		"assignment":            `[range(N)] | .[] = 1 | length`,
		"update":                `[range(N)] | .[] |= . + 1 | length`,
		"arithmetic update":     `[range(N)] | .[] += 1 | length`,
		"deletion":              `[range(N)] | del(.[] | select(. % 2 == 0)) | length`,
		"empty update":          `[range(N)] | (.[] | select(. % 2 == 0)) |= empty | length`,
		"objects":               `[range(N) | {a: .}] | .[].a |= . + 1 | length`,
		"histogram":             `reduce range(N) as $i ({}; .["k\($i % 1000)"] += 1) | length`,
		"many keys":             `reduce range(N) as $i ({}; .["k\($i)"] = $i) | length`,
		"keys of a deep object": `reduce range(N) as $i ({}; .a.b["k\($i)"] = $i) | length`,
		"appended":              `reduce range(N) as $i ([]; . + [$i]) | length`,
		"appended inside":       `reduce range(N) as $i ({}; .a += [$i]) | .a | length`,
		"text":                  `reduce range(N) as $i (""; . + "some more text") | length`,
		"slices":                `[range(N)] | .[range(length) | {start: ., end: (. + 1)}] = [1] | length`,
		"by index":              `reduce range(N) as $i ([]; .[$i] = $i) | length`,
		"counted and appended":  `reduce range(N) as $i ([0]; .[0] += 1 | . + [$i]) | length`,
		"entries":               `[range(N) | {key: "k\(.)", value: .}] | from_entries | with_entries(.value += 1) | length`,
		"walk":                  `[range(N) | [.]] | walk(.) | length`,
		"tostream":              `[range(N)] | [fromstream(tostream)] | length`,
		"to and from text":      `[range(N)] | tojson | fromjson | length`,
		"first of many":         `[range(N)] | [first(.[]), last(.[]), nth(5; .[])] | length`,
		"tries":                 `[range(N) | try error(.) catch .] | length`,
		"a try around many":     `[try range(N) catch .] | length`,
		"gsub":                  `"ab" * (N) | gsub("b"; "c") | length`,
	} {
		t.Run(name, func(t *testing.T) {
			small := steps(t, strings.ReplaceAll(src, "N", "3000"))
			large := steps(t, strings.ReplaceAll(src, "N", "30000"))
			if large > 25*small {
				t.Errorf("%d steps for 3000, %d for 30000", small, large)
			}
		})
	}
}

// What is garbage is not counted as live.
func TestGarbageIsReleased(t *testing.T) {
	for name, src := range map[string]string{
		"numbers":  `reduce range(1000000) as $i (0; . + $i)`,
		"arrays":   `reduce range(20000) as $i (0; [range(100)] | length)`,
		"strings":  `reduce range(20000) as $i (0; "x" * 10000 | length)`,
		"frames":   `def f: if . > 0 then . - 1 | f else . end; 1000000 | f`,
		"versions": `reduce range(300000) as $i ([0, 0]; .[0] = $i)`,
		"updates":  `. as $old | reduce range(20000) as $i ([range(100)]; .[$i % 100] += 1) | length`,
		"texts":    `reduce range(2000) as $i (0; [range(1000)] | tojson | length)`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := run(t, proc.Limits{LiveBytes: 24 << 20}, src, "null"); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestDeepSource(t *testing.T) {
	for name, src := range map[string]string{
		"parentheses": strings.Repeat("(", 100_000) + "1" + strings.Repeat(")", 100_000),
		"brackets":    strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000),
		"minus":       strings.Repeat("-", 100_000) + "1",
	} {
		if _, err := Compile(src, nil, nil, nil, true, free); err == nil {
			t.Errorf("%s: compiled", name)
		}
	}
	if _, err := run(t, proc.Limits{}, "1", strings.Repeat("[", 1_000_000)); err == nil {
		t.Error("a million brackets were read")
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e3,"x\u00e9\ud83d\ude00",null,true]}`, "[1,,2]", `{"a"`, "nan -1e999 \"\xff\"",
		"[[[["} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		none := func(int) {}
		d := NewDecoder(strings.NewReader(s), none, none)
		for {
			v, err := d.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				return
			}
			// What is printed must read back as the same text.
			out := text(v)
			w, err := ParseText(out, none, none)
			if err != nil || text(w) != out {
				t.Fatalf("%q printed as %s reads as %s, %v", s, out, text(w), err)
			}
		}
	})
}

func FuzzProgram(f *testing.F) {
	for _, s := range []string{`.a[0]?`, `reduce .[] as [$a,{b:$c}] (0; .+$a)`, `def f(x): x|f(x); f(.)`,
		`.[1:3] |= map(.+1)`, `"\(1+2)" | test("a.*"; "gx")`,
		`path(..)`, `label $x | break $x`, `{(.a,"b"):1, "c\(1)":2, $__loc__}`, `.. |= empty`,
		`to_entries, tojson, @csv "\([1])", input, limit(3;repeat(1))`} {
		f.Add(s, `{"a":[1,{"b":null}],"c":"x"}`)
	}
	f.Fuzz(func(t *testing.T, src, in string) {
		_, _ = run(t, proc.Limits{Steps: 200_000, LiveBytes: 16 << 20}, src, in)
	})
}

// Compiling counts what it does: a short program whose problems, or whose code, are long ends at a limit.
func TestCompilingEndsAtLimits(t *testing.T) {
	for name, src := range map[string]string{
		"names that nobody defines":  strings.Repeat("a|", 20_000) + "a",
		"problems in a string":       `"` + strings.Repeat(`\q a`, 50_000) + `"`,
		"patterns of many variables": "1 as [$a0" + numbered(", $a#", 3000) + "]" + numbered(" ?// [$b#]", 3000) + " | 1",
		"names of many variables":    numbered("1 as $a#|", 30_000) + strings.Repeat("not|", 100_000) + "1",
		"a very long program":        strings.Repeat(".[0]|", 150_000) + "1",
		"arguments within arguments": strings.Repeat("map(select(", 200) + strings.Repeat("a|", 50_000) + "1" +
			strings.Repeat("))", 200),
		"places in a program": strings.Repeat("$__loc__,", 100_000) + "1",
		"functions within functions": strings.Repeat("def f($a): ", 1400) + strings.Repeat("a|", 200_000) + "1" +
			strings.Repeat("; f(1)", 1400),
		"assignments of much":         strings.Repeat("(.a|=1)|", 100_000) + "1",
		"alternatives of assignments": strings.Repeat(".a//=1|", 100_000) + "1",
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			out, err := run(t, proc.Limits{Steps: 300_000, LiveBytes: 48 << 20}, src, "null")
			var limit *proc.LimitError
			if !errors.As(err, &limit) {
				t.Errorf("ended with %.100q, %.100v", out, err)
			}
			if took := time.Since(began); took > 3*time.Second {
				t.Errorf("ended after %v", took)
			}
		})
	}
}

// numbered is s n times, with a number in the place of #.
func numbered(s string, n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(s, "#", strconv.Itoa(i)))
	}
	return b.String()
}

// What the parser makes of a program is a small multiple of it: nothing is copied, or looked at, once for each thing
// around.
func TestCompilingIsLinear(t *testing.T) {
	for name, src := range map[string]string{
		"a string of escapes": `"` + strings.Repeat(`\na`, 100_000) + `"`,
		"constants within constants": strings.Repeat("[", 1000) + strings.Repeat("1,", 50_000) + "1" +
			strings.Repeat("]", 1000),
		"an object of constants": "{" + numbered("k#:1,", 20_000) + "a:1}",
		"functions of functions": strings.Repeat("def f: ", 900) + numbered("name#|", 20_000) + "1" +
			strings.Repeat("; f", 900),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, _ = parse(src, topLevelSource, true, free)
			if p, err := parse(src, topLevelSource, true, free); err == nil {
				constantOf(p.body)
				constantOf(p.body)
			}
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > 3000*uint64(len(src)) {
				t.Errorf("%d MB for %d bytes", n>>20, len(src))
			}
		})
	}
}

// A value that shares its parts is much longer as a text than it is large: messages tell the beginning.
func TestMessagesOfSharedValues(t *testing.T) {
	for _, src := range []string{`error`, `.[0][0] + 1`, `has("a")`, `.a`, `"x" * 1000000 | {a: .} | implode`,
		`[., "x" * 10000000] | @csv`} {
		_, err := run(t, proc.Limits{}, `reduce range(60) as $i (0; [., .]) | `+src, "null")
		if err == nil || len(err.Error()) > 1<<18 {
			t.Errorf("%s: %.100v", src, err)
		}
	}
}
