package awk

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/proc"
)

type noEnv struct{}

func (noEnv) Get(string) (string, bool) { return "", false }
func (noEnv) List() []string            { return nil }

// run executes src on input without a filesystem; commands fail. A death is returned as its cause.
func run(tb testing.TB, limits proc.Limits, src, input string) (out string, status int, death error) {
	tb.Helper()
	prog, err := Parse([]Source{{Text: src}}, Gawk, func(string) {}, nil)
	if err != nil {
		return "", 1, nil
	}
	ctx, b := proc.NewBudget(context.Background(), limits)
	defer b.Close()
	var sb strings.Builder
	p := &proc.Process{
		Args: []string{"awk"}, Env: noEnv{}, Dir: "/", Budget: b,
		Stdin: strings.NewReader(input), Stdout: &sb, Stderr: io.Discard,
		Now:   func() time.Time { return time.Unix(0, 0) },
		Spawn: func(context.Context, *proc.Process) int { return 127 },
	}
	defer func() {
		if r := recover(); r != nil {
			d, ok := r.(proc.Death)
			if !ok {
				panic(r)
			}
			death = d.Cause
		}
	}()
	status = proc.Run(ctx, func(_ context.Context, p *proc.Process) int {
		return prog.Run(p, Config{Args: []string{"awk"}})
	}, p)
	if b.Live() != 0 {
		tb.Errorf("%q: %d bytes still held", src, b.Live())
	}
	return sb.String(), status, nil
}

func TestLimits(t *testing.T) {
	limits := proc.Limits{Steps: 50_000_000, LiveBytes: 64 << 20}
	for name, src := range map[string]string{
		"endless loop":      `BEGIN{while(1)i++}`,
		"endless do":        `BEGIN{do;while(1)}`,
		"doubling string":   `BEGIN{x="x";while(1)x=x x}`,
		"growing array":     `BEGIN{while(1)a[i++]="some text"}`,
		"growing locals":    `function f(n, a){a[n]="text";return f(n+1)} BEGIN{f(0)}`,
		"wide format":       `BEGIN{printf "%2000000000d", 1}`,
		"star format":       `BEGIN{x=sprintf("%*d", 2000000000, 1)}`,
		"many fields":       `BEGIN{$16000000="x"; while(1) $0=$0 $0}`,
		"gsub growth":       `BEGIN{x="aaaaaaaa";while(1)gsub(/a/,"aa",x)}`,
		"endless recursion": `function f(){f()} BEGIN{while(1)f()}`,
		"subarrays":         `BEGIN{while(1)a[i][i++]=1}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, status, death := run(t, limits, src, "")
			if death == nil && status != 2 {
				t.Fatalf("ended with status %d", status)
			}
		})
	}
}

func TestDeepSource(t *testing.T) {
	const n = 1_000_000
	for name, src := range map[string]string{
		"parentheses": "BEGIN{x=" + strings.Repeat("(", n) + "1" + strings.Repeat(")", n) + "}",
		"braces":      "BEGIN" + strings.Repeat("{", n) + strings.Repeat("}", n),
		"sum":         "BEGIN{x=1" + strings.Repeat("+1", n) + "}",
		"signs":       "BEGIN{x=" + strings.Repeat("- ", n) + "1}",
		"nots":        "BEGIN{x=" + strings.Repeat("!", n) + "1}",
		"fields":      "{x=" + strings.Repeat("$", n) + "1}",
		"powers":      "BEGIN{x=1" + strings.Repeat("^1", n) + "}",
		"ternaries":   "BEGIN{x=" + strings.Repeat("1?1:", n) + "1}",
		"ifs":         "BEGIN{" + strings.Repeat("if(1)", n) + "x}",
		"assignments": "BEGIN{" + strings.Repeat("x=", n) + "1}",
		"subscripts":  "BEGIN{" + strings.Repeat("a[", n) + "1" + strings.Repeat("]", n) + "}",
		"elses":       "BEGIN{" + strings.Repeat("if(1){}else ", n) + "x}",
		"commands":    "BEGIN{\"a\"" + strings.Repeat("|getline", n) + "}",
	} {
		if _, err := Parse([]Source{{Text: src}}, Gawk, nil, nil); err == nil {
			t.Errorf("%s: parsed", name)
		}
	}
}

// TestRelease checks that a run gives back what it held.
func TestRelease(t *testing.T) {
	out, status, _ := run(t, proc.Limits{}, `
function f(n,  a, s) { a[n] = s = sprintf("%1000d", n); if (n) f(n-1); return length(a[n]) }
{ lines[NR] = $0; $3 = "x"; all = all $0 }
END { print f(50), length(lines), length(all); delete lines; split(all, parts, " "); print length(parts) }`,
		strings.Repeat("some words of text\n", 5000))
	if status != 0 || out != "1000 5000 85000\n15001\n" {
		t.Errorf("status %d: %q", status, out)
	}
}

func FuzzProgram(f *testing.F) {
	for _, s := range []string{
		`{print $1, $NF}`, `BEGIN{for(i=0;i<3;i++)a[i]=i; for(k in a)print k,a[k]}`, `/a/,/b/{n++} END{print n}`,
		`function f(x,y){y[x]=1; return x} {f($1,z)}`, `{gsub(/[a-z]+/,"<&>"); print substr($0,2,3)}`,
		`BEGIN{printf "%5.2f|%-*s|%c\n", 1, 3, "x", 65}`,
		`BEGIN{FS=",";RS="";OFS=":"}{$2="";NF=5;print}`, `BEGIN{while(("x"|getline l)>0)print l > "/dev/stderr"}`,
		`{a[$1][$2]=$3; n=asorti(a,b); switch($1){case /x/: break; default: next}}`,
		`BEGIN{FPAT="[^,]*";IGNORECASE=1}{print match($0,/(b)(c)?/,m), m[1,"start"]}`,
	} {
		f.Add(s, "a b c\n1,2 x\n\nfoo bar\n")
	}
	f.Fuzz(func(t *testing.T, src, in string) {
		late := time.AfterFunc(10*time.Second, func() { panic("200 000 steps have not ended it") })
		defer late.Stop()
		_, _, _ = run(t, proc.Limits{Steps: 200_000, LiveBytes: 16 << 20}, src, in)
	})
}

// largestWrite remembers the largest write.
type largestWrite int

func (l *largestWrite) Write(b []byte) (int, error) {
	*l = max(*l, largestWrite(len(b)))
	return len(b), nil
}

// TestDumpIsStreamed dumps a text that is four times as long when it is quoted: that text is never held.
func TestDumpIsStreamed(t *testing.T) {
	t.Parallel()
	prog, err := Parse([]Source{{Text: `BEGIN { s = "\001"; while (length(s) < 1048576) s = s s }`}}, Gawk, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, b := proc.NewBudget(context.Background(), proc.Limits{Steps: 50_000_000, LiveBytes: 64 << 20})
	defer b.Close()
	var out largestWrite
	p := &proc.Process{
		Args: []string{"awk"}, Env: noEnv{}, Dir: "/", Budget: b,
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: io.Discard,
		Now: func() time.Time { return time.Unix(0, 0) },
	}
	dump := "-"
	proc.Run(ctx, func(_ context.Context, p *proc.Process) int {
		return prog.Run(p, Config{Args: []string{"awk"}, Dump: &dump})
	}, p)
	if out == 0 || out > 1<<19 {
		t.Errorf("the largest write of a dump of 4 MB has %d bytes", out)
	}
}
