package utillinux

import (
	"context"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

var getoptSpec = getopt.New("+ao:l:n:qQs:TuhV",
	"alternative=a options:=o longoptions:=l name:=n quiet=q quiet-output=Q shell:=s test=T unquoted=u help=h version=V").
	WithStatus(2).WithUsage("<optstring> <parameters>\n getopt [options] [--] <optstring> <parameters>\n getopt [options] -o|--options <optstring> [options] [--] <parameters>", "Parse command options.").
	WithVersion("from util-linux 2.38.1")

// getoptRun is the parsing of parameters that getopt(1) does for scripts: unlike the commands' own it goes on after an
// error.
type getoptRun struct {
	p                 *proc.Process
	name              string
	short             map[byte]getopt.Arity
	longs             []getoptLong
	alternative       bool
	quiet             bool
	quote, csh        bool
	inOrder, returned bool // stop at the first operand; hand operands over where they stand
	out               strings.Builder
	failed            bool
}

type getoptLong struct {
	name  string
	arity getopt.Arity
}

func getoptMain(_ context.Context, p *proc.Process) int {
	g := &getoptRun{p: p, name: p.Name(), quote: true, short: map[byte]getopt.Arity{}}
	args := p.Args[1:]
	_, compatible := p.Env.Get("GETOPT_COMPATIBLE")
	optstring, hasOptions, noOutput := "", false, false
	switch {
	case len(args) == 0:
		if compatible {
			p.Out.WriteString(" --\n")
			return 0
		}
		getoptSpec.Fail(p, "missing optstring argument")
	case !strings.HasPrefix(args[0], "-") || compatible:
		g.quote = false
		optstring, args = strings.TrimLeft(args[0], "-+"), args[1:]
		g.shortOptions(optstring)
		return g.run(args, false)
	}
	opts, rest := getoptSpec.Parse(p)
	for _, o := range opts {
		switch o.Key {
		case "a":
			g.alternative = true
		case "o":
			optstring, hasOptions = o.Value, true
		case "l":
			for _, w := range strings.FieldsFunc(o.Value, func(r rune) bool {
				return r == ',' || r == ' ' || r == '\t' || r == '\n'
			}) {
				name := strings.TrimRight(w, ":")
				if name == "" {
					getoptSpec.Fail(p, "empty long option after -l or --long argument")
				}
				g.longs = append(g.longs, getoptLong{name, getopt.Arity(min(len(w)-len(name), 2))})
			}
		case "n":
			g.name = o.Value
		case "q":
			g.quiet = true
		case "Q":
			noOutput = true
		case "s":
			switch o.Value {
			case "sh", "bash":
				g.csh = false
			case "csh", "tcsh":
				g.csh = true
			default:
				getoptSpec.Fail(p, "unknown shell after -s or --shell argument")
			}
		case "T":
			return 4
		case "u":
			g.quote = false
		case "h":
			p.Args = []string{p.Args[0], "--help"}
			getopt.New("", "").WithUsage("<optstring> <parameters>", "Parse command options.").Parse(p)
		case "V":
			p.Out.WriteString("getopt from util-linux 2.38.1\n")
			return 0
		}
	}
	if !hasOptions {
		if len(rest) == 0 {
			getoptSpec.Fail(p, "missing optstring argument")
		}
		optstring, rest = rest[0], rest[1:]
	}
	g.shortOptions(optstring)
	return g.run(rest, noOutput)
}

func (g *getoptRun) shortOptions(s string) {
	switch {
	case strings.HasPrefix(s, "+"):
		g.inOrder, s = true, s[1:]
	case strings.HasPrefix(s, "-"):
		g.returned, s = true, s[1:]
	}
	if _, ok := g.p.Env.Get("POSIXLY_CORRECT"); ok && !g.returned {
		g.inOrder = true
	}
	if strings.HasPrefix(s, ":") {
		g.quiet, s = true, s[1:]
	}
	for i := 0; i < len(s); i++ {
		c, n := s[i], 0
		for n < 2 && i+1 < len(s) && s[i+1] == ':' {
			n++
			i++
		}
		g.short[c] = getopt.Arity(n)
	}
}

func (g *getoptRun) errorf(format string, args ...string) {
	g.failed = true
	if g.quiet {
		return
	}
	msg := format
	for _, a := range args {
		msg = strings.Replace(msg, "%s", a, 1)
	}
	g.p.Err.WriteString(g.name + ": " + msg + "\n")
}

func (g *getoptRun) put(s string) { g.out.WriteString(" " + s) }

// value writes an argument so that eval gives it back.
func (g *getoptRun) value(s string) {
	if !g.quote {
		g.put(s)
		return
	}
	var b strings.Builder
	b.WriteByte('\'')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\'':
			b.WriteString(`'\''`)
		case g.csh && c == '\\':
			b.WriteString(`\\`)
		case g.csh && c == '!':
			b.WriteString(`'\!'`)
		case g.csh && c == '\n':
			b.WriteString(`\n`)
		case g.csh && program.IsSpaceByte(int(c)):
			b.WriteString(`'\` + string(c) + `'`)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('\'')
	g.put(b.String())
}

func (g *getoptRun) run(args []string, noOutput bool) int {
	var operands []string
	for len(args) > 0 {
		g.p.Tick(1)
		a := args[0]
		args = args[1:]
		switch {
		case a == "--":
			operands = append(operands, args...)
			args = nil
		case strings.HasPrefix(a, "--"):
			args = g.long(a[2:], "--", a, args)
		case len(a) > 1 && a[0] == '-':
			if g.alternative && g.known(a[1:]) {
				args = g.long(a[1:], "-", a, args)
				continue
			}
			args = g.letters(a[1:], args)
		case g.returned:
			g.value(a)
		case g.inOrder:
			operands = append(append(operands, a), args...)
			args = nil
		default:
			operands = append(operands, a)
		}
	}
	g.put("--")
	for _, a := range operands {
		g.value(a)
	}
	if !noOutput {
		g.p.Out.WriteString(g.out.String() + "\n")
	}
	if g.failed {
		return 1
	}
	return 0
}

// known reports whether -a takes -word for a long option: not when its first letter is a short one and nothing long
// fits.
func (g *getoptRun) known(word string) bool {
	name, _, _ := strings.Cut(word, "=")
	for _, l := range g.longs {
		if strings.HasPrefix(l.name, name) {
			if _, short := g.short[word[0]]; len(word) == 1 && short {
				return false
			}
			return true
		}
	}
	_, short := g.short[word[0]]
	return !short
}

func (g *getoptRun) long(word, dash, arg string, args []string) []string {
	name, value, has := strings.Cut(word, "=")
	var found []getoptLong
	for _, l := range g.longs {
		if l.name == name {
			found = []getoptLong{l}
			break
		}
		if strings.HasPrefix(l.name, name) {
			found = append(found, l)
		}
	}
	switch {
	case len(found) == 0:
		g.errorf("unrecognized option '%s'", dash+name)
		return args
	case len(found) > 1:
		list := ""
		for _, l := range found {
			list += " '" + dash + l.name + "'"
		}
		g.errorf("option '%s' is ambiguous; possibilities:%s", arg, list)
		return args
	}
	l := found[0]
	switch {
	case has && l.arity == getopt.None:
		g.errorf("option '%s' doesn't allow an argument", dash+l.name)
		return args
	case !has && l.arity == getopt.Required:
		if len(args) == 0 {
			g.errorf("option '%s' requires an argument", dash+l.name)
			return args
		}
		value, args = args[0], args[1:]
	}
	g.put("--" + l.name)
	if l.arity != getopt.None {
		g.value(value)
	}
	return args
}

func (g *getoptRun) letters(word string, args []string) []string {
	for i := 0; i < len(word); i++ {
		arity, ok := g.short[word[i]]
		letter := word[i : i+1]
		if !ok || letter == ":" {
			g.errorf("invalid option -- '%s'", letter)
			continue
		}
		if arity == getopt.None {
			g.put("-" + letter)
			continue
		}
		value := word[i+1:]
		if value == "" && arity == getopt.Required {
			if len(args) == 0 {
				g.errorf("option requires an argument -- '%s'", letter)
				return args
			}
			value, args = args[0], args[1:]
		}
		g.put("-" + letter)
		g.value(value)
		return args
	}
	return args
}
