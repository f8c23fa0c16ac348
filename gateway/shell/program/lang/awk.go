package lang

import (
	"context"
	"errors"
	"fmt"
	slash "path"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/lang/awk"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

const awkUsage = `Usage: %[1]s [POSIX or GNU style options] -f progfile [--] file ...
Usage: %[1]s [POSIX or GNU style options] [--] 'program' file ...
`

const awkVersion = "GNU Awk 5.2.1, API 3.2, PMA Avon 8-g1, (GNU MPFR 4.2.0, GNU MP 6.2.1)\nThis is pgbox's own implementation, compatible with that version.\n"

// awkLong maps the long options to their short forms; a colon says it takes an argument.
var awkLong = map[string]string{
	"field-separator": "F:", "assign": "v:", "file": "f:", "source": "e:", "include": "i:", "exec": "E:", "load": "l:",
	"version": "V", "help": "h", "posix": "P", "traditional": "c", "re-interval": "r",
	"sandbox": "S", "optimize": "O", "no-optimize": "s", "characters-as-bytes": "b",
	"non-decimal-data": "n", "use-lc-numeric": "N", "bignum": "M", "lint": "L", "gen-pot": "g",
	"lint-old": "t", "debug": "D", "dump-variables": "d", "pretty-print": "o", "profile": "p",
}

// awkRun is an awk command line.
type awkRun struct {
	sources []awk.Source
	loaded  map[string]byte // the option that each file came with
	given   bool            // -f, -e or -E gave a program
	dialect awk.Dialect
	cfg     awk.Config
}

// awkMain is awk, gawk and mawk: the same program, called by any of its names. It reads its own
// options: getopt's table cannot say that the program text ends them.
func awkMain(_ context.Context, p *proc.Process) int {
	r := awkRun{cfg: awk.Config{Bytes: program.ByteLocale(p)}}
	args := p.Args[1:]
	usage := func(format string, a ...any) int {
		p.Errorf(format, a...)
		fmt.Fprintf(p.Err, awkUsage, p.Name())
		return 1
	}
	for len(args) > 0 {
		a := args[0]
		if a == "--" {
			args = args[1:]
			break
		}
		if len(a) < 2 || a[0] != '-' {
			break
		}
		args = args[1:]
		if name, ok := strings.CutPrefix(a, "--"); ok {
			name, val, has := strings.Cut(name, "=")
			short, ok := awkLong[name]
			if !ok {
				return usage("unrecognized option '--%s'", name)
			}
			if strings.HasSuffix(short, ":") && !has {
				if len(args) == 0 {
					return usage("option '--%s' requires an argument", name)
				}
				val, args = args[0], args[1:]
			}
			if done, status := r.option(p, short[0], val); done {
				return status
			}
			continue
		}
		for a = a[1:]; a != ""; {
			c := a[0]
			a = a[1:]
			var val string
			switch {
			case strings.IndexByte("FvfeiElW", c) >= 0:
				if val = a; val == "" {
					if len(args) == 0 {
						return usage("option requires an argument -- %c", c)
					}
					val, args = args[0], args[1:]
				}
				a = ""
			case strings.IndexByte("dopLD", c) >= 0: // optional arguments, attached
				val, a = a, ""
			case strings.IndexByte("VhPcrSOsbnNMgtIC", c) < 0 && r.given:
				return r.run(p, append([]string{"-" + string(c) + a}, args...)) // for the program to look at
			case strings.IndexByte("VhPcrSOsbnNMgtIC", c) < 0:
				return usage("invalid option -- '%c'", c)
			}
			if done, status := r.option(p, c, val); done {
				return status
			}
			if c == 'E' {
				return r.run(p, args)
			}
		}
	}
	if !r.given {
		if len(args) == 0 {
			fmt.Fprintf(p.Err, awkUsage, p.Name())
			return 1
		}
		r.sources = append(r.sources, awk.Source{Text: args[0]})
		args = args[1:]
	}
	return r.run(p, args)
}

// option carries out one option; done says that the command ends with status.
func (r *awkRun) option(p *proc.Process, c byte, val string) (done bool, status int) {
	switch c {
	case 'F':
		r.cfg.Assigns = append(r.cfg.Assigns, "FS="+val)
	case 'v':
		if !strings.Contains(val, "=") {
			p.Errorf("`%s' argument to `-v' not in `var=value' form\n", val)
			fmt.Fprintf(p.Err, awkUsage, p.Name())
			return true, 1
		}
		r.cfg.Assigns = append(r.cfg.Assigns, val)
	case 'b':
		r.cfg.Bytes = true
	case 'S':
		r.cfg.Sandbox = true
	case 'P':
		r.dialect = awk.Posix
	case 'c':
		r.dialect = awk.Traditional
	case 'd':
		if val == "" {
			val = "awkvars.out"
		}
		r.cfg.Dump = &val
	case 'D':
		p.Errorf("fatal: the debugger is not available")
		return true, 2
	case 'W':
		return r.long(p, val)
	case 'e':
		r.given = true
		r.sources = append(r.sources, awk.Source{Text: val})
	case 'f', 'E', 'i':
		if c == 'i' && val == "inplace" {
			r.cfg.InPlace = true
			break
		}
		path, text, err := r.load(p, val)
		if err != nil {
			p.Errorf("fatal: cannot open source file `%s' for reading: %s", val, proc.Strerror(err))
			return true, 2
		}
		if was, ok := r.loaded[slash.Clean(p.Abs(path))]; ok && (c == 'i' || was == 'i') {
			if c != was {
				p.Errorf("fatal: cannot include `%s' and use it as a program file", val)
				return true, 2
			}
			break // included already
		}
		if r.loaded == nil {
			r.loaded = map[string]byte{}
		}
		r.loaded[slash.Clean(p.Abs(path))] = c
		r.given = r.given || c != 'i'
		r.sources = append(r.sources, awk.Source{Name: path, Text: text})
	case 'l':
		p.Errorf("fatal: cannot open shared library `%s' for reading: No such file or directory", val)
		return true, 2
	case 'V':
		p.Out.WriteString(awkVersion)
		return true, 0
	case 'h':
		fmt.Fprintf(p.Out, awkUsage, p.Name())
		p.Out.WriteString("\nOptions:\n")
		getopt.List(p, program.ListedOptions(awkLong, "CIW"))
		return true, 0
	}
	return false, 0
}

// long carries out the option that -W spells in long form.
func (r *awkRun) long(p *proc.Process, opt string) (done bool, status int) {
	name, val, _ := strings.Cut(opt, "=")
	if short, ok := awkLong[name]; ok {
		return r.option(p, short[0], val)
	}
	p.Errorf("unrecognized option '--%s'", name)
	fmt.Fprintf(p.Err, awkUsage, p.Name())
	return true, 1
}

// load reads a source: the file, or the first of that name in AWKPATH, with and without .awk at its end.
func (r *awkRun) load(p *proc.Process, name string) (path, text string, err error) {
	if name == "-" {
		b, err := p.ReadAll(p.Stdin)
		return name, string(b), err
	}
	dirs := []string{""}
	if path := p.Getenv("AWKPATH"); path != "" && !strings.Contains(name, "/") {
		dirs = strings.Split(path, ":")
	}
	for _, suffix := range []string{"", ".awk"} {
		for _, dir := range dirs {
			path := name + suffix
			if dir != "" && dir != "." {
				path = program.JoinPath(dir, path)
			}
			b, e := p.ReadFile(path)
			if e == nil {
				return path, string(b), nil
			}
			if err == nil {
				err = e
			}
		}
	}
	return name, "", err
}

func (r *awkRun) run(p *proc.Process, operands []string) int {
	total := 0
	for _, s := range r.sources {
		total += len(s.Text)
	}
	// Syntax trees and closures take a multiple of the text.
	p.Hold(total * 32)
	defer func() { p.Release(total * 32) }()
	prog, err := awk.Parse(r.sources, r.dialect, func(s string) { p.Errorf("%s", s) },
		func(name string) (awk.Source, error) {
			path, text, err := r.load(p, name)
			if err != nil {
				return awk.Source{}, errors.New(proc.Strerror(err))
			}
			p.Hold(len(text) * 32)
			total += len(text)
			return awk.Source{Name: path, Text: text}, nil
		})
	if err != nil {
		var se *awk.SyntaxError
		if errors.As(err, &se) {
			p.Out.Flush()
			fmt.Fprintln(p.Err, se.Report(p.Name()))
			if se.Fatal() {
				return 2
			}
		}
		return 1
	}
	r.cfg.Args = append([]string{p.Name()}, operands...)
	return prog.Run(p, r.cfg)
}
