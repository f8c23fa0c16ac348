package utillinux

import (
	"context"
	"fmt"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var nameiSpec = getopt.New("xmolnv",
	"mountpoints=x modes=m owners=o long=l nosymlinks=n vertical=v context=Z").WithLetters().WithVersion("from util-linux 2.38.1").
	WithUsage("[options] <pathname>...", "Follow a pathname until a terminal point is found.")

// maxLinks is how many symbolic links a name may lead through.
const maxLinks = 20

type nameiRun struct {
	p                                          *proc.Process
	mounts, modes, owners, vertical, keepLinks bool
	users, groups                              int // widths of the columns
	names                                      program.Names
	lines                                      []nameiLine
	links                                      int
}

// nameiLine is one part of a name.
type nameiLine struct {
	depth       int
	name, to    string
	st          vfs.Stat
	mount       bool
	err         error
	user, group string
}

func namei(_ context.Context, p *proc.Process) int {
	opts, args := nameiSpec.Parse(p)
	r := &nameiRun{p: p, names: program.Names{P: p}}
	for _, o := range opts {
		switch o.Key {
		case "x":
			r.mounts = true
		case "m":
			r.modes = true
		case "o":
			r.owners = true
		case "l":
			r.modes, r.owners, r.vertical = true, true, true
		case "n":
			r.keepLinks = true
		case "v":
			r.vertical = true
		}
	}
	if len(args) == 0 {
		nameiSpec.Fail(p, "pathname argument is missing")
	}
	status := 0
	for _, a := range args {
		r.lines, r.links, r.users, r.groups = nil, 0, 0, 0
		start := p.Dir
		if strings.HasPrefix(a, "/") {
			start = "/"
		}
		_, ok := r.walk(a, start, 0)
		fmt.Fprintf(p.Out, "f: %s\n", a)
		for _, l := range r.lines {
			r.print(l)
		}
		if !ok {
			status = 1
			if r.links > maxLinks {
				p.Errorf("%s: exceeded limit of symlinks", a)
			}
		}
	}
	return status
}

// walk follows the parts of a name from a directory and returns where it leads.
func (r *nameiRun) walk(name, at string, depth int) (end string, ok bool) {
	if strings.HasPrefix(name, "/") {
		at = "/"
		if !r.step("/", "/", depth) {
			return at, false
		}
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" {
			continue
		}
		r.p.Tick(1)
		path := program.JoinPath(at, part)
		if !r.step(part, path, depth) {
			return path, false
		}
		l := &r.lines[len(r.lines)-1]
		if l.st.Kind != vfs.Symlink || r.keepLinks {
			at = path
			continue
		}
		if r.links++; r.links > maxLinks {
			return path, false
		}
		var reached bool
		if at, reached = r.walk(l.to, at, depth+1); !reached {
			return at, false
		}
	}
	return at, true
}

// step notes one part of a name.
func (r *nameiRun) step(name, path string, depth int) bool {
	l := nameiLine{depth: depth, name: name}
	l.st, l.err = r.p.Lstat(path)
	if l.err == nil {
		if l.st.Kind == vfs.Symlink {
			l.to, l.err = r.p.FS.Readlink(path)
		}
		if r.mounts && l.st.IsDir() {
			real, err := r.p.FS.Realpath(path)
			l.mount = err == nil && real == "/"
		}
		if l.user = r.names.User(l.st.UID); l.user == "" {
			l.user = fmt.Sprint(l.st.UID)
		}
		if l.group = r.names.Group(l.st.GID); l.group == "" {
			l.group = fmt.Sprint(l.st.GID)
		}
		r.users, r.groups = max(r.users, len(l.user)), max(r.groups, len(l.group))
	}
	r.lines = append(r.lines, l)
	return l.err == nil
}

func (r *nameiRun) print(l nameiLine) {
	p := r.p
	indent := strings.Repeat("  ", l.depth)
	if l.err != nil {
		blanks := 1
		if r.modes {
			blanks += 9
		}
		if r.owners {
			blanks += r.users + r.groups + 2
		}
		if !r.vertical {
			blanks++
		}
		fmt.Fprintf(p.Out, "%s%s %s - %s\n", indent, strings.Repeat(" ", blanks), l.name, proc.Strerror(l.err))
		return
	}
	if !r.vertical {
		p.Out.WriteString(" " + indent)
	}
	kind := program.KindLetter(l.st.Kind)
	if l.mount {
		kind = 'D'
	}
	p.Out.WriteByte(kind)
	if r.modes {
		p.Out.WriteString(program.ModeString(l.st.Mode))
	}
	if r.owners {
		fmt.Fprintf(p.Out, " %-*s %-*s", r.users, l.user, r.groups, l.group)
	}
	if r.vertical {
		p.Out.WriteString(indent)
	}
	p.Out.WriteString(" " + l.name)
	if l.st.Kind == vfs.Symlink {
		p.Out.WriteString(" -> " + l.to)
	}
	p.Out.WriteByte('\n')
}
