package regex_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/text/regex"
)

// tool runs a real tool as the oracle.
func tool(t *testing.T, stdin string, args ...string) (stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = []string{"LC_ALL=C.UTF-8", "PATH=/usr/bin:/bin"}
	cmd.Stdin = strings.NewReader(stdin)
	var out, err bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &err
	_ = cmd.Run()
	if ctx.Err() != nil { // glibc needs exponential time for some expressions
		return "", "timeout"
	}
	return out.String(), err.String()
}

// replaceAll does what sed's s///g does, showing the match and two groups.
func replaceAll(re *regex.Regexp, line string) string {
	b := []byte(line)
	var out strings.Builder
	pos, copied, last := 0, 0, -1
	for pos <= len(b) {
		loc := re.FindSubmatchIndex(b, pos)
		if loc == nil {
			break
		}
		if loc[0] == loc[1] && loc[0] == last { // an empty match right after a match
			pos = loc[0] + 1
			for pos < len(b) && b[pos]&0xc0 == 0x80 {
				pos++
			}
			continue
		}
		out.Write(b[copied:loc[0]])
		g := func(i int) string {
			if 2*i+1 >= len(loc) || loc[2*i] < 0 {
				return ""
			}
			return string(b[loc[2*i]:loc[2*i+1]])
		}
		fmt.Fprintf(&out, "<%s|%s|%s>", g(0), g(1), g(2))
		copied, last = loc[1], loc[1]
		pos = loc[1]
	}
	out.Write(b[copied:])
	return out.String()
}

type generator struct {
	*rand.Rand
	groups int
	refs   bool
	asrt   bool
}

func (g *generator) pick(s ...string) string { return s[g.IntN(len(s))] }

func (g *generator) atom(depth int) string {
	switch n := g.IntN(20); {
	case n < 8:
		return g.pick("a", "b", "c", "é", "_", " ")
	case n < 10:
		return "."
	case n < 13:
		return g.pick("[ab]", "[^a]", "[[:alpha:]]", "[a-c]", "[^ab_]", "[[:space:]b]", "[é]", `\w`, `\W`)
	case n < 14 && g.asrt:
		return g.pick("^", "$", `\b`, `\B`, `\<`, `\>`)
	case n < 15 && g.refs && g.groups > 0:
		return fmt.Sprintf(`\%d`, 1+g.IntN(g.groups))
	case depth > 0:
		s := "(" + g.alt(depth-1) + ")"
		g.groups++
		return s
	}
	return g.pick("a", "b")
}

func (g *generator) alt(depth int) string {
	var parts []string
	for range 1 + g.IntN(2)*g.IntN(3) {
		var s strings.Builder
		for range 1 + g.IntN(3) {
			a := g.atom(depth)
			s.WriteString(a)
			if strings.ContainsAny(a[:1], "^$") || len(a) == 2 && a[0] == '\\' && strings.ContainsAny(a, "bB<>") {
				continue
			}
			switch g.IntN(9) {
			case 0:
				s.WriteString("*")
			case 1:
				s.WriteString("+")
			case 2:
				s.WriteString("?")
			case 3:
				s.WriteString(g.pick("{2}", "{1,2}", "{0,2}", "{2,}"))
			}
		}
		parts = append(parts, s.String())
	}
	return strings.Join(parts, "|")
}

func (g *generator) text() string {
	var b strings.Builder
	for range g.IntN(9) {
		b.WriteString(g.pick("a", "a", "b", "b", "c", "é", " ", "_"))
	}
	return b.String()
}

// TestAgainstSed compares match bounds and groups of random expressions with GNU sed.
func TestAgainstSed(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1))}
	bad := 0
	const rounds = 400
	for i := range rounds {
		g.groups, g.asrt = 0, i%3 == 0
		pat := g.alt(2)
		var in []string
		empty, _ := regex.Compile(pat, regex.Options{Extended: true})
		ascii := empty != nil && empty.Match(nil) // sed 4.9 tears characters apart at empty matches
		for range 25 {
			s := g.text()
			if ascii {
				s = strings.ReplaceAll(s, "é", "a")
			}
			in = append(in, s)
		}
		repl := "<&|"
		if g.groups > 0 {
			repl += `\1`
		}
		repl += "|"
		if g.groups > 1 {
			repl += `\2`
		}
		want, stderr := tool(t, strings.Join(in, "\n")+"\n", "sed", "-E", "s/"+pat+"/"+repl+">/g")
		if stderr == "timeout" {
			continue
		}
		re, err := regex.Compile(pat, regex.Options{Dialect: regex.Sed, Extended: true})
		if err != nil {
			if !strings.Contains(stderr, err.Error()) {
				t.Errorf("%q: %v, sed says %q", pat, err, stderr)
			}
			continue
		}
		if stderr != "" {
			t.Errorf("%q: compiles, sed says %q", pat, stderr)
			continue
		}
		lines := strings.Split(want, "\n")
		for k, s := range in {
			if got := replaceAll(re, s); got != lines[k] {
				bad++
				if bad < 12 {
					t.Logf("s/%s/: %q\n got %s\nwant %s", pat, s, got, lines[k])
				}
			}
		}
	}
	// glibc's own choice of groups inside repeated alternatives is not always the
	// backtracking one; everything else must be equal.
	if bad > rounds*25/100 {
		t.Errorf("%d of %d lines differ", bad, rounds*25)
	}
}

// TestAgainstGrep compares line selection by Match and by MatchLine. grep itself is wrong about
// a few expressions where \B or \< stands in something that may be empty, so one pattern in a hundred may differ
// when it has an assertion.
func TestAgainstGrep(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 2))}
	const rounds = 400
	odd := 0
	for i := range rounds {
		g.groups, g.asrt, g.refs = 0, i%4 < 2, i%2 == 0
		pat := g.alt(2)
		opt := regex.Options{Dialect: regex.Grep, Extended: true}
		args := []string{"grep", "-nE"}
		switch i % 5 {
		case 1:
			args, opt.IgnoreCase = append(args, "-i"), true
		case 2:
			args, opt.WholeWord = append(args, "-w"), true
		case 3:
			args, opt.WholeLine = append(args, "-x"), true
		}
		var in strings.Builder
		for range 40 {
			s := g.text()
			if g.IntN(4) == 0 {
				s = strings.ToUpper(s)
			}
			in.WriteString(s + "\n")
		}
		want, stderr := tool(t, in.String(), append(args, "--", pat)...)
		if stderr == "timeout" {
			continue
		}
		re, err := regex.Compile(pat, opt)
		if err == nil && opt.WholeWord && re.Match(nil) {
			continue // grep 3.8 tries only some of the empty matches
		}
		if err != nil {
			if !strings.Contains(stderr, err.Error()) {
				t.Errorf("%q: %v, grep says %q", pat, err, stderr)
			}
			continue
		}
		b := []byte(in.String())
		var got strings.Builder
		for n, pos := 1, 0; pos < len(b); n++ {
			e := pos + bytes.IndexByte(b[pos:], '\n')
			if re.Match(b[pos:e]) {
				fmt.Fprintf(&got, "%d:%s\n", n, b[pos:e])
			}
			pos = e + 1
		}
		if got.String() != want && strings.ContainsAny(pat, `^$\\`) {
			odd++
			t.Logf("%v %q differs", args, pat)
			want = got.String() // the two ways must still agree
		}
		if got.String() != want {
			t.Errorf("%v %q:\n got %q\nwant %q", args, pat, got.String(), want)
		}
		var lines strings.Builder
		for pos := 0; ; {
			s, e, ok := re.MatchLine(b, pos)
			if !ok {
				break
			}
			fmt.Fprintf(&lines, "%d:%s\n", 1+bytes.Count(b[:s], []byte("\n")), b[s:e])
			pos = e + 1
		}
		if lines.String() != want {
			t.Errorf("%v %q by MatchLine:\n got %q\nwant %q", args, pat, lines.String(), want)
		}
	}
	if odd > rounds/100 {
		t.Errorf("%d of %d patterns differ", odd, rounds)
	}
}

// TestErrors compares messages with the real tools, in both syntaxes.
func TestErrors(t *testing.T) {
	patterns := []string{
		"*a", "a**", "a)", "(a", "a{", "a{1", "a{x", "a{x}", "{1}a", "a{2,1}", "[z-a]", "[[:foo:]]", "a|*b", "()", "a||b",
		"+a", "(*a)", "a{1}{2}", `\(`, `\1`, `(a)\2`, "[[.x.]]", "[[.xx.]]", "[[=x=]]", "[:alpha:]", "a{99999}", "^*",
		"(^*a)", "a{,2}",
		`a\)`, `\(a`, `a\{`, `a\{1`, `a\{x`, `\{1\}a`, `a\{2,1\}`, `a\|*b`, `\(\)`, `a\|\|b`, `\+a`, `\(*a\)`, `a\{1\}\{2\}`,
		`\(a\)\2`,
		"a^b", "a$b", `\(^*a\)`, `a\{1a\}`, `\(^a\)`, `a\|^b`, `a*\{2\}`, `x\?*`, `[a\]`, "[]a]", "[^]a]", "[a-]", "[--a]",
		"[a-c-e]", "[[:space:]-z]",
		"a{}", "a{,}", "a{1,2,3}", "[b-]", "x[[:alpha:][:digit:]_-]y", "a|b|", "(|a)", "a{0}", "(a){0}b", "$a", "^^", "$$",
		"a$*",
	}
	const in = "a\n*a\naa\nb*\n{1}a\na{\na{x\n()\n+a\na{1\na^b\nx1y\n$a\n^\na|*b\n"
	for _, pat := range patterns {
		for _, x := range []struct {
			args []string
			opt  regex.Options
		}{
			{[]string{"grep", "-e"}, regex.Options{Dialect: regex.Grep}},
			{[]string{"grep", "-E", "-e"}, regex.Options{Dialect: regex.Grep, Extended: true}},
			{[]string{"sed", "-n"}, regex.Options{Dialect: regex.Sed}},
			{[]string{"sed", "-nE"}, regex.Options{Dialect: regex.Sed, Extended: true}},
		} {
			script := pat
			if x.args[0] == "sed" {
				script = "/" + pat + "/p"
			}
			out, stderr := tool(t, in, append(x.args, script)...)
			re, err := regex.Compile(pat, x.opt)
			if err != nil {
				if !strings.HasSuffix(strings.TrimSpace(stderr), ": "+err.Error()) {
					t.Errorf("%v %q: %v, the tool says %q and prints %q", x.args, pat, err, stderr, out)
				}
				continue
			}
			var got strings.Builder
			for line := range strings.Lines(in) {
				if re.Match([]byte(strings.TrimSuffix(line, "\n"))) {
					got.WriteString(line)
				}
			}
			if strings.Contains(stderr, "warning") && len(re.Warnings()) == 0 {
				t.Errorf("%v %q: no warning, the tool says %q", x.args, pat, stderr)
			}
			if stderr != "" && !strings.Contains(stderr, "warning") || got.String() != out {
				t.Errorf("%v %q: got %q, the tool %q %q", x.args, pat, got.String(), out, stderr)
			}
		}
	}
}
