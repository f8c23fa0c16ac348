package file

import (
	"context"
	"fmt"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// Modes such as -x and -rw look like options; they are collected like GNU chmod does.
const chmodModeLetters = "rwxXstugoa,+=01234567"

var chmodSpec = getopt.New("Rcfv"+strings.Join(strings.Split(chmodModeLetters, ""), "::")+"::",
	"changes=c recursive=R no-preserve-root preserve-root quiet=f silent=f reference: verbose=v").
	WithUsage("[OPTION]... MODE[,MODE]... FILE...\n  or:  chmod [OPTION]... OCTAL-MODE FILE...\n  or:  chmod [OPTION]... --reference=RFILE FILE...",
		"Change the mode of each FILE to MODE.")

type chmodRun struct {
	p                                 *proc.Process
	change                            program.ModeChange
	recursive, changes, quiet, report bool
	fromOption                        bool
	status                            int
}

func chmod(_ context.Context, p *proc.Process) int {
	opts, args := chmodSpec.Parse(p)
	r := &chmodRun{p: p}
	var mode, reference string
	var hasReference, preserveRoot bool
	for _, o := range opts {
		switch o.Key {
		case "R":
			r.recursive = true
		case "c":
			r.changes, r.report = true, false
		case "f":
			r.quiet = true
		case "v":
			r.report, r.changes = true, false
		case "reference":
			reference, hasReference = o.Value, true
		case "preserve-root":
			preserveRoot = true
		case "no-preserve-root":
			preserveRoot = false
		default:
			if mode != "" {
				mode += ","
			}
			mode += "-" + o.Key + o.Value
			r.fromOption = true
		}
	}
	switch {
	case hasReference:
		if mode != "" {
			p.Errorf("cannot combine mode and --reference options")
			chmodSpec.Hint(p)
		}
		if len(args) == 0 {
			chmodSpec.Fail(p, "missing operand")
		}
		st, err := p.Stat(reference)
		if err != nil {
			p.Errorf("failed to get attributes of %s: %s", program.QuoteName(reference), proc.Strerror(err))
			return 1
		}
		r.change = program.ModeChange{{Op: '=', Affected: program.ModeAll, Value: st.Mode, Mentioned: program.ModeAll}}
	default:
		if mode == "" {
			if len(args) == 0 {
				chmodSpec.Fail(p, "missing operand")
			}
			mode, args = args[0], args[1:]
		}
		if len(args) == 0 {
			if r.fromOption {
				chmodSpec.Fail(p, "missing operand")
			}
			chmodSpec.Fail(p, "missing operand after %s", program.Quote(mode))
		}
		var ok bool
		if r.change, ok = program.ParseMode(mode); !ok {
			chmodSpec.Fail(p, "invalid mode: %s", program.Quote(mode))
		}
	}
	for _, name := range args {
		if preserveRoot && r.recursive && name == "/" {
			p.Errorf("it is dangerous to operate recursively on '/'")
			p.Errorf("use --no-preserve-root to override this failsafe")
			r.status = 1
			continue
		}
		r.set(name, true, 0)
	}
	return r.status
}

func (r *chmodRun) set(name string, arg bool, depth int) {
	p := r.p
	p.Tick(1)
	st, err := p.Lstat(name)
	if err == nil && st.Kind == vfs.Symlink {
		if !arg {
			return
		}
		if st, err = p.Stat(name); err != nil {
			if !r.quiet {
				p.Errorf("cannot operate on dangling symlink %s", program.QuoteName(name))
			}
			if r.report {
				fmt.Fprintf(p.Out, "%s could not be accessed\n", program.QuoteName(name))
			}
			r.status = 1
			return
		}
	}
	if err != nil {
		r.status = 1
		if !r.quiet {
			p.Errorf("cannot access %s: %s", program.QuoteName(name), proc.Strerror(err))
		}
		if r.report {
			fmt.Fprintf(p.Out, "%s could not be accessed\n", program.QuoteName(name))
		}
		return
	}
	mode := r.change.Apply(st.Mode, st.IsDir(), p.Umask)
	if mode != st.Mode {
		err = p.FS.Chmod(p.Abs(name), mode)
	}
	from, to := describeMode(st.Mode), describeMode(mode)
	switch {
	case err != nil:
		r.status = 1
		if !r.quiet {
			p.Errorf("changing permissions of %s: %s", program.QuoteName(name), proc.Strerror(err))
		}
		if r.report {
			fmt.Fprintf(p.Out, "failed to change mode of %s from %s to %s\n", program.QuoteName(name), from, to)
		}
	case mode != st.Mode && (r.report || r.changes):
		fmt.Fprintf(p.Out, "mode of %s changed from %s to %s\n", program.QuoteName(name), from, to)
	case r.report:
		fmt.Fprintf(p.Out, "mode of %s retained as %s\n", program.QuoteName(name), to)
	}
	if err == nil && r.fromOption {
		// chmod -w leaves bits the umask protects: GNU says so.
		if naive := r.change.Apply(st.Mode, st.IsDir(), 0); mode&^naive != 0 {
			p.Errorf("%s: new permissions are %s, not %s", program.QuoteColon(name), program.ModeString(mode),
				program.ModeString(naive))
			r.status = 1
		}
	}
	if !r.recursive || !st.IsDir() || depth >= program.MaxTreeDepth {
		return
	}
	entries, err := p.ReadDir(name)
	if err != nil {
		if !r.quiet {
			p.Errorf("cannot read directory %s: %s", program.QuoteName(name), proc.Strerror(err))
		}
		r.status = 1
		return
	}
	for _, e := range entries {
		r.set(program.JoinPath(name, e.Name), false, depth+1)
	}
}

func describeMode(m uint32) string { return program.OctalMode(m) + " (" + program.ModeString(m) + ")" }
