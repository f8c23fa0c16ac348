// Package python is python3: CPython on a machine ([wasi]), with what WebAssembly has no system calls for put back by
// modules of ours.
//
// The modules are in lib. sitecustomize.py runs before every program: it puts what the system below lacks where
// programs look for it, in os, subprocess, errno and so on (_pgbox.py), and gives errors the numbers of Linux. Modules
// that need threads or sockets have stand-ins that either do without or say what is missing.
package python

import (
	"context"
	"embed"
	"io/fs"
	"slices"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/wasi"
)

//go:embed all:lib
var lib embed.FS

// home is where our modules are, for the interpreter only.
const home = "/.pgbox/python"

// memory is the most that an interpreter may have; what a script may hold can be less.
const memory = 384 << 20

// Run is python3.
func Run(ctx context.Context, p *proc.Process) int {
	return run(ctx, p, parse(p.Args))
}

// Pip is pip: the module of that name, which is one of ours.
func Pip(ctx context.Context, p *proc.Process) int {
	return run(ctx, p, line{args: append([]string{"python3", "-m", "pip"}, p.Args[1:]...)})
}

func run(ctx context.Context, p *proc.Process, l line) int {
	files, err := fs.Sub(lib, "lib")
	if err != nil {
		p.Errorf("%v", err)
		return 1
	}
	env := p.Variables().Unset("PGBOX_ARGV0").Unset("PGBOX_NOUSER")
	if l.noEnv {
		for _, kv := range slices.Clone(env.List()) {
			if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "PYTHON") {
				env = env.Unset(name)
			}
		}
	}
	path := home
	if more, ok := env.Get("PYTHONPATH"); ok && more != "" {
		// The interpreter looks at it in the root, before our modules have said where it is.
		for dir := range strings.SplitSeq(more, ":") {
			path += ":" + p.Abs(dir)
		}
	}
	if l.noUser {
		env = env.Set("PGBOX_NOUSER=1")
	}
	args := slices.Clone(l.args)
	if i := l.script; i > 0 {
		// The interpreter opens it before our modules have said where it is.
		env = env.Set("PGBOX_ARGV0=" + args[i])
		args[i] = p.Abs(args[i])
	}
	env = env.Unset("PYTHONHOME").Set("PWD=" + p.Dir).Set("PYTHONPATH=" + path).Set("PYTHONDONTWRITEBYTECODE=1")
	most := min(memory, uint64(p.Budget.Limits.LiveBytes)/4*3)
	return wasi.Command(ctx, p, "python", wasi.Job{Args: args, Env: env, MaxMemory: most},
		wasi.Overlay{Path: home, Files: files})
}

// line is a command line of python3, as the interpreter is given it: our modules are found by PYTHONPATH and loaded by
// site, so what turns these off is done by us.
type line struct {
	args   []string
	script int  // the place of the name of a file to run among args, 0 when there is none
	noEnv  bool // variables that begin with PYTHON do not count: -E, -I
	noUser bool // no packages of the user: -s, -I
}

func parse(args []string) line {
	l := line{args: []string{"python3"}}
	for i := 1; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "-" || a == "":
			l.args = append(l.args, args[i:]...)
			return l
		case a == "--" || a[0] != '-':
			l.args = append(l.args, args[i:]...)
			if l.script = len(l.args) - len(args) + i; a == "--" {
				l.script++
			}
			if l.script >= len(l.args) {
				l.script = 0
			}
			return l
		case strings.HasPrefix(a, "--"):
			l.args = append(l.args, a)
			if a == "--check-hash-based-pycs" && i+1 < len(args) {
				i++
				l.args = append(l.args, args[i])
			}
			continue
		}
		kept := []byte{'-'}
		for k := 1; k < len(a); k++ {
			c := a[k]
			switch c {
			case 'E':
				l.noEnv = true
				continue
			case 's':
				l.noUser = true
				continue
			case 'S':
				continue
			case 'I':
				l.noEnv, l.noUser = true, true
				kept = append(kept, 'P')
				continue
			case 'c', 'm':
				l.args = append(append(l.args, string(kept)+a[k:]), args[i+1:]...)
				return l
			case 'W', 'X':
				kept = append(kept, a[k:]...)
				if k == len(a)-1 && i+1 < len(args) {
					l.args = append(l.args, string(kept))
					i++
					kept = []byte(args[i])
				}
				k = len(a)
				continue
			}
			kept = append(kept, c)
		}
		if len(kept) > 1 || kept[0] != '-' {
			l.args = append(l.args, string(kept))
		}
	}
	return l
}
