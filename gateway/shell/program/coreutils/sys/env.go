package sys

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var envSpec = getopt.New("+C:iS:u:v0",
	"ignore-environment=i null=0 unset:=u chdir:=C block-signal:: default-signal:: ignore-signal:: list-signal-handling debug=v split-string:=S").WithStatus(125).
	WithUsage("[OPTION]... [-] [NAME=VALUE]... [COMMAND [ARG]...]",
		"Set each NAME to VALUE in the environment and run COMMAND.")

func env(ctx context.Context, p *proc.Process) int {
	// -S inserts words where it stands, so it is expanded before the options are read.
	verbose := false
	say := func(format string, args ...any) {
		if verbose {
			fmt.Fprintf(p.Err, format, args...)
		}
	}
	for n := 0; n < 64; n++ {
		e, ok := expandSplit(p, p.Args)
		if !ok {
			return 125
		}
		if e.args == nil {
			break
		}
		before, _, _ := envSpec.Scan(e.args[1:e.at]) // a mistake is said below
		verbose = slices.ContainsFunc(before, func(o getopt.Option) bool { return o.Key == "v" })
		say("split -S:  %s\n", program.Quote(e.text))
		for i, w := range e.words {
			lead := "     &    "
			if i == 0 {
				lead = " into:    "
			}
			say("%s%s\n", lead, program.Quote(w))
		}
		p.Args = e.args
	}
	opts, args := envSpec.Parse(p)
	verbose = slices.ContainsFunc(opts, func(o getopt.Option) bool { return o.Key == "v" })
	list := p.Variables()
	var dir string
	var hasDir, null bool
	var unset []string
	for _, o := range opts {
		switch o.Key {
		case "i":
			list = nil
		case "u":
			unset = append(unset, o.Value)
		case "C":
			dir, hasDir = o.Value, true
		case "0":
			null = true
		case "block-signal", "default-signal", "ignore-signal":
			for name := range strings.SplitSeq(o.Value, ",") {
				if _, ok := program.SignalNumber(name); !ok && name != "" {
					p.Errorf("%s: invalid signal", program.Quote(name))
					envSpec.Hint(p)
				}
			}
		}
	}
	if len(args) > 0 && args[0] == "-" {
		list, args = nil, args[1:]
	}
	if list == nil {
		say("cleaning environ\n")
	}
	for _, name := range unset {
		if name == "" || strings.Contains(name, "=") {
			p.Errorf("cannot unset %s: %s", program.Quote(name), vfs.EINVAL)
			return 125
		}
		say("unset:    %s\n", name)
		list = list.Unset(name)
	}
	for len(args) > 0 && strings.Contains(args[0], "=") {
		say("setenv:   %s\n", args[0])
		list, args = list.Set(args[0]), args[1:]
	}
	if len(args) == 0 {
		if hasDir {
			p.Errorf("must specify command with --chdir (-C)")
			envSpec.Hint(p)
		}
		end := "\n"
		if null {
			end = "\x00"
		}
		for _, kv := range list {
			p.Out.WriteString(kv + end)
		}
		return 0
	}
	if null {
		p.Errorf("cannot specify --null (-0) with command")
		envSpec.Hint(p)
	}
	child := p.Child(args...)
	child.Env = list
	if hasDir {
		full, err := p.FS.Realpath(p.Abs(dir))
		if err == nil {
			var st vfs.Stat
			if st, err = p.FS.Stat(full); err == nil && !st.IsDir() {
				err = vfs.ENOTDIR
			}
		}
		if err != nil {
			p.Errorf("cannot change directory to %s: %s", program.QuoteName(dir), proc.Strerror(err))
			return 125
		}
		child.Dir = full
		say("chdir:    %s\n", program.QuoteName(dir))
	}
	say("executing: %s\n", args[0])
	for i, a := range args {
		say("   arg[%d]= %s\n", i, program.Quote(a))
	}
	if status, ok := findProgram(p, child, args[0], "%s: %s"); !ok {
		if strings.ContainsAny(args[0], " \t") {
			p.Errorf("use -[v]S to pass options in shebang lines")
		}
		return status
	}
	return p.Become(ctx, child)
}

// envSplit is a command line whose first -S was replaced by the words of its text, which begin at args[at].
type envSplit struct {
	args, words []string
	text        string
	at          int
}

// expandSplit replaces the first -S among the options; args of the result is nil when there is none.
func expandSplit(p *proc.Process, args []string) (envSplit, bool) {
	for i := 1; i < len(args); i++ {
		a := args[i]
		var text string
		var first []string // the letters before the S
		rest := args[i+1:]
		switch {
		case a == "--" || !strings.HasPrefix(a, "-") || a == "-":
			return envSplit{}, true
		case strings.HasPrefix(a, "--split-string="):
			text = a[len("--split-string="):]
		case a == "--split-string":
			if len(rest) == 0 {
				return envSplit{}, true
			}
			text, rest = rest[0], rest[1:]
		case strings.HasPrefix(a, "--"):
			continue
		default:
			k := strings.IndexAny(a[1:], "SCu")
			if k < 0 {
				continue
			}
			if a[1+k] != 'S' {
				if 2+k == len(a) {
					i++ // its argument is the next word
				}
				continue
			}
			text = a[2+k:]
			if text == "" {
				if len(rest) == 0 {
					return envSplit{}, true
				}
				text, rest = rest[0], rest[1:]
			}
			if k > 0 {
				first = []string{a[:1+k]}
			}
		}
		words, ok := splitString(p, text)
		if !ok {
			return envSplit{}, false
		}
		return envSplit{slices.Concat(args[:i], first, words, rest), words, text, i + len(first)}, true
	}
	return envSplit{}, true
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// splitString is the little language of env -S.
func splitString(p *proc.Process, s string) ([]string, bool) {
	var words []string
	var word strings.Builder
	in, quoted := false, byte(0)
	flush := func() {
		if in {
			words = append(words, word.String())
			word.Reset()
			in = false
		}
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quoted == 0 && strings.IndexByte(" \t\n\v\f\r", c) >= 0:
			flush()
			continue
		case quoted == 0 && c == '#' && !in:
			flush()
			return words, true
		case (c == '\'' || c == '"') && quoted == 0:
			quoted, in = c, true
			continue
		case c == quoted && quoted != 0:
			quoted = 0
			continue
		case c == '\\' && i+1 < len(s) && (quoted != '\'' || s[i+1] == '\\' || s[i+1] == '\''):
			i++
			if quoted == 0 && s[i] == '_' {
				flush()
				continue
			}
			if quoted == 0 && s[i] == 'c' {
				flush()
				return words, true
			}
			in = true
			switch s[i] {
			case 'n':
				word.WriteByte('\n')
			case 't':
				word.WriteByte('\t')
			case 'r':
				word.WriteByte('\r')
			case 'f':
				word.WriteByte('\f')
			case 'v':
				word.WriteByte('\v')
			case '_':
				word.WriteByte(' ')
			case 'c':
				p.Errorf("'\\c' must not appear in double-quoted -S string")
				return nil, false
			case '#', '$', '"', '\'', '\\':
				word.WriteByte(s[i])
			default:
				p.Errorf("invalid sequence '\\%c' in -S", s[i])
				return nil, false
			}
			continue
		case c == '\\' && i+1 == len(s):
			p.Errorf("invalid backslash at end of string in -S")
			return nil, false
		case c == '$' && quoted != '\'':
			name, ok := "", false
			if i+1 < len(s) && s[i+1] == '{' {
				name, _, ok = strings.Cut(s[i+2:], "}")
			}
			if !ok || !variableName.MatchString(name) {
				p.Errorf("only ${VARNAME} expansion is supported, error at: %s", s[i:])
				return nil, false
			}
			if v, set := p.Env.Get(name); set {
				word.WriteString(v)
				in = true
			}
			i += len(name) + 2
			continue
		}
		in = true
		word.WriteByte(c)
	}
	if quoted != 0 {
		p.Errorf("no terminating quote in -S string")
		return nil, false
	}
	flush()
	return words, true
}

// findProgram looks a program up as execvp would in child. When it cannot run it prints the message and returns 127 or
// 126.
func findProgram(p, child *proc.Process, name, format string) (status int, ok bool) {
	_, err := child.LookPath(name)
	if err == nil {
		return 0, true
	}
	p.Errorf(format, program.Quote(name), proc.Strerror(err))
	if errors.Is(err, vfs.ENOENT) {
		return 127, false
	}
	return 126, false
}
