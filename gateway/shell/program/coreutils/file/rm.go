package file

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var rmSpec = getopt.New("dfirvIR",
	"force=f interactive:: one-file-system no-preserve-root preserve-root:: recursive=r dir=d verbose=v").
	WithUsage("[OPTION]... [FILE]...", "Remove (unlink) the FILE(s).")

type rmRun struct {
	p                               *proc.Process
	force, ask, recursive, dir, say bool
	status                          int
}

func rm(_ context.Context, p *proc.Process) int {
	if _, _, err := rmSpec.Scan(p.Args[1:]); err != nil {
		hyphenHint(p, err)
	}
	opts, args := rmSpec.Parse(p)
	r := &rmRun{p: p}
	preserveRoot, once := true, false
	for _, o := range opts {
		switch o.Key {
		case "d":
			r.dir = true
		case "f":
			r.force, r.ask, once = true, false, false
		case "i":
			r.ask, r.force, once = true, false, false
		case "I":
			r.ask, r.force, once = false, false, true
		case "interactive":
			when := "always"
			if o.Has {
				when = program.Choose(p, rmSpec, "interactive", o.Value, "never no none", "once", "always yes")
			}
			r.ask, once = when == "always", when == "once"
			r.force = r.force && when == "never"
		case "r", "R":
			r.recursive = true
		case "v":
			r.say = true
		case "no-preserve-root":
			preserveRoot = false
		}
	}
	if len(args) == 0 {
		if r.force {
			return 0
		}
		rmSpec.Fail(p, "missing operand")
	}
	if once && (r.recursive || len(args) > 3) {
		s := "s"
		if len(args) == 1 {
			s = ""
		}
		q := fmt.Sprintf("remove %d argument%s? ", len(args), s)
		if r.recursive {
			q = fmt.Sprintf("remove %d argument%s recursively? ", len(args), s)
		}
		if !program.Confirm(p, q) {
			return 0
		}
	}
	for _, name := range args {
		if r.recursive {
			base := program.BaseName(name)
			if base == "." || base == ".." {
				p.Errorf("refusing to remove '.' or '..' directory: skipping %s", program.QuoteName(name))
				r.status = 1
				continue
			}
			if root, err := p.FS.Realpath(p.Abs(name)); preserveRoot && name != "" && err == nil && root == "/" &&
				!r.isLink(name) {
				same := ""
				if name != "/" {
					same = " (same as '/')"
				}
				p.Errorf("it is dangerous to operate recursively on %s%s", program.QuoteName(name), same)
				p.Errorf("use --no-preserve-root to override this failsafe")
				r.status = 1
				continue
			}
		}
		if strings.HasSuffix(name, "//") {
			name = program.TrimSlashes(name) + "/"
		}
		r.remove(name, 0)
	}
	return r.status
}

func (r *rmRun) isLink(name string) bool {
	st, err := r.p.Lstat(name)
	return err == nil && st.Kind == vfs.Symlink
}

func (r *rmRun) fail(name string, err error) bool {
	if r.force && (errors.Is(err, vfs.ENOENT) || errors.Is(err, vfs.ENOTDIR)) {
		return true
	}
	r.p.Errorf("cannot remove %s: %s", program.QuoteName(name), proc.Strerror(err))
	r.status = 1
	return false
}

// hyphenHint is for a file whose name was taken for options.
func hyphenHint(p *proc.Process, err error) {
	for _, a := range p.Args[1:] {
		if len(a) > 1 && a[0] == '-' {
			if _, e := p.Lstat(a); e == nil {
				p.Errorf("%v", err)
				fmt.Fprintf(p.Err, "Try '%s ./%s' to remove the file %s.\n", p.Name(), a, program.QuoteName(a))
				rmSpec.Hint(p)
			}
		}
	}
}

// remove reports whether name is gone.
func (r *rmRun) remove(name string, depth int) bool {
	r.p.Tick(1)
	st, err := r.p.Lstat(name)
	if err != nil {
		return r.fail(name, err)
	}
	if !st.IsDir() {
		if r.ask && !program.Confirm(r.p, fmt.Sprintf("remove %s %s? ", program.KindName(st), program.QuoteName(name))) {
			return false
		}
		if err := r.p.FS.Unlink(r.p.Abs(name)); err != nil {
			return r.fail(name, err)
		}
		if r.say {
			fmt.Fprintf(r.p.Out, "removed %s\n", program.QuoteName(name))
		}
		return true
	}
	if !r.recursive && !r.dir {
		return r.fail(name, vfs.EISDIR)
	}
	entries, err := r.p.ReadDir(name)
	if err != nil {
		return r.fail(name, err)
	}
	if len(entries) > 0 {
		if !r.recursive {
			return r.fail(name, vfs.ENOTEMPTY)
		}
		if depth >= program.MaxTreeDepth {
			return r.fail(name, vfs.ENAMETOOLONG)
		}
		if r.ask && !program.Confirm(r.p, fmt.Sprintf("descend into directory %s? ", program.QuoteName(name))) {
			return false
		}
		files, dirs := true, true // all of them are gone
		for _, e := range entries {
			if gone := r.remove(program.JoinPath(name, e.Name), depth+1); !gone {
				files, dirs = files && e.Kind == vfs.Dir, dirs && e.Kind != vfs.Dir
			}
		}
		if !dirs || !files && !r.ask {
			return false
		}
	}
	if r.ask && !program.Confirm(r.p, fmt.Sprintf("remove directory %s? ", program.QuoteName(name))) {
		return false
	}
	if err := r.p.FS.Rmdir(strings.TrimRight(r.p.Abs(name), "/")); err != nil {
		return r.fail(name, err)
	}
	if r.say {
		fmt.Fprintf(r.p.Out, "removed directory %s\n", program.QuoteName(name))
	}
	return true
}
