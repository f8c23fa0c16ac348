package jq

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

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
	prog, err := Compile(src, nil, nil, nil)
	if err != nil {
		return "", err
	}
	v, err := ParseText(input, step, hold)
	if err != nil {
		return "", err
	}
	m := &Machine{
		Tick: step, Hold: hold, Release: func(n int) { b.Release(int64(n)) },
		Input: func() (any, bool, error) { return nil, false, nil },
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
		"endless loop":        `[limit(1; repeat(empty))] | last(range(1e18))`,
		"endless collection":  `[range(1e12)]`,
		"doubling string":     `reduce range(60) as $i ("x"; . + .)`,
		"doubling array":      `reduce range(60) as $i ([1]; . + .)`,
		"repeated string":     `"x" * 1e10`,
		"huge index":          `.[60000000] = 1`,
		"endless recursion":   `def f: f; f`,
		"recursion with work": `def f: 1 + f; f`,
		"deep value":          `reduce range(1e9) as $i (null; [.])`,
		"deep until":          `until(false; {a: .})`,
		"deep setpath":        `reduce range(100) as $i (null; {a: .}) | until(false; setpath(["b"]; .))`,
		"growing state":       `reduce range(1e12) as $i ({}; .["k\($i)"] = "some value \($i)")`,
		"combinations":        `[range(100)] | [combinations(100)]`,
		"join":                `[range(1000) | "x" * 100000] | join("y")`,
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

// TestSharing checks that values that share storage do not see each other's additions.
func TestSharing(t *testing.T) {
	a := NewArray(make([]any, 0, 8)).with(1.0)
	b, c := a.with(2.0), a.with(3.0)
	if text(a) != "[1]" || text(b) != "[1,2]" || text(c) != "[1,3]" {
		t.Errorf("arrays: %s %s %s", text(a), text(b), text(c))
	}
	o := NewObject()
	for i := range 20 {
		o = o.Set(strings.Repeat("k", i+1), float64(i))
	}
	p, q := o.Set("x", 1.0), o.Set("y", 2.0)
	r := o.Set("k", 9.0).Set("z", 3.0)
	for _, bad := range []struct {
		o   *Object
		key string
	}{{o, "x"}, {o, "y"}, {p, "y"}, {q, "x"}, {r, "x"}, {o, "z"}} {
		if _, ok := bad.o.Get(bad.key); ok {
			t.Errorf("%s has %q", text(bad.o), bad.key)
		}
	}
	if v, _ := o.Get("k"); v != 0.0 {
		t.Errorf("an update showed in the original: %v", v)
	}
	if v, _ := r.Get("k"); v != 9.0 {
		t.Errorf("an update was lost: %v", v)
	}
}

// What jq 1.7 has and 1.6, which the recorded cases come from, has not.
func TestNewerJq(t *testing.T) {
	for _, c := range []struct{ src, in, want string }{
		{`if . then 1 end`, "null", "null\n"},
		{`if . == 1 then "one" elif . == 2 then "two" end`, "3", "3\n"},
		{`pick(.a.b, .c[1])`, `{"a":{"b":1,"x":2},"c":[3,4,5]}`, `{"a":{"b":1},"c":[null,4]}` + "\n"},
		{`map(abs)`, `[-1, 2.5, -0.5]`, "[1,2.5,0.5]\n"},
		{`toarray, ([1] | toarray)`, `1`, "[1]\n[1]\n"},
		{`trim, ltrim, rtrim`, `"  a b "`, "\"a b\"\n\"a b \"\n\"  a b\"\n"},
		{`ltrimstr("x"), trimstr("a")`, `"aba"`, "\"aba\"\n\"b\"\n"},
		{`@base32, (@base32 | @base32d)`, `"hello"`, "\"NBSWY3DP\"\n\"hello\"\n"},
		{`[scan("A"; "i")]`, `"aXA"`, "[\"a\",\"A\"]\n"},
		{`.a.[0], .[1]?`, `{"a":[7]}`, "7\n"},
		{`add(.[].a)`, `[{"a":1},{"a":2}]`, "3\n"},
		{`[skip(2; range(5))]`, `null`, "[2,3,4]\n"},
		{`have_literal_numbers, have_decnum`, `null`, "true\nfalse\n"},
		{`65 | ascii`, `null`, "\"A\"\n"},
		{`"abc" | reverse`, `null`, "\"cba\"\n"},
		{`from_entries`, `[{"k":"a","v":1},{"name":"b","value":false}]`, "{\"a\":1,\"b\":false}\n"},
		{`1425599621 | date, dateadd("seconds"; 10), datesub("seconds"; 10)`, `null`, "\"2015-03-05T23:53:41Z\"\n1425599631\n1425599611\n"},
		{`debug("x") | .`, `5`, "5\n"},
		{`try error catch .`, `null`, ""},
		{`gsub("";"-")`, `"abc"`, "\"-a-b-c\"\n"},
	} {
		got, err := run(t, proc.Limits{}, c.src, c.in)
		if err != nil || got != c.want {
			t.Errorf("%s of %s: got %q, %v; want %q", c.src, c.in, got, err, c.want)
		}
	}
}

func TestDeepSource(t *testing.T) {
	for name, src := range map[string]string{
		"parentheses": strings.Repeat("(", 100_000) + "1" + strings.Repeat(")", 100_000),
		"brackets":    strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000),
		"minus":       strings.Repeat("-", 100_000) + "1",
	} {
		if _, err := Compile(src, nil, nil, nil); err == nil {
			t.Errorf("%s: compiled", name)
		}
	}
	long := strings.Repeat("1|", 200_000) + "1"
	if _, err := run(t, proc.Limits{}, long, "null"); err == nil {
		t.Error("200000 pipes ran")
	}
	if _, err := run(t, proc.Limits{}, "1", strings.Repeat("[", 1_000_000)); err == nil {
		t.Error("a million brackets were read")
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e3,"x\u00e9\ud83d\ude00",null,true]}`, "[1,,2]", `{"a"`, "nan -1e999 \"\xff\"", "[[[["} {
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
	for _, s := range []string{`.a[0]?`, `reduce .[] as [$a,{b:$c}] (0; .+$a)`, `def f(x): x|f(x); f(.)`, `.[1:3] |= map(.+1)`, `"\(1+2)" | test("a.*"; "gx")`,
		`path(..)`, `label $x | break $x`, `{(.a,"b"):1, "c\(1)":2, $__loc__}`, `.. |= empty`, `to_entries, tojson, @csv "\([1])", input, limit(3;repeat(1))`} {
		f.Add(s, `{"a":[1,{"b":null}],"c":"x"}`)
	}
	f.Fuzz(func(t *testing.T, src, in string) {
		_, _ = run(t, proc.Limits{Steps: 200_000, LiveBytes: 16 << 20}, src, in)
	})
}
