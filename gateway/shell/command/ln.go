package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var lnSpec = getopt.New("bdfinrst:vFLPS:T",
	"backup:: directory=d no-dereference=n no-target-directory=T force=f interactive=i suffix:=S target-directory:=t "+
		"logical=L physical=P relative=r symbolic=s verbose=v").
	WithUsage("[OPTION]... [-T] TARGET LINK_NAME\n  or:  ln [OPTION]... TARGET\n  or:  ln [OPTION]... TARGET... DIRECTORY\n  or:  ln [OPTION]... -t DIRECTORY TARGET...",
		"Make links between files.")

type linker struct {
	p                                            *proc.Process
	symbolic, force, ask, relative, verbose, log bool
	backup                                       backups
}

func ln(_ context.Context, p *proc.Process) int {
	opts, args := lnSpec.Parse(p)
	l := &linker{p: p, backup: newBackups(p)}
	var target string
	var hasTarget, noTarget, noFollow bool
	for _, o := range opts {
		switch o.Key {
		case "b":
			l.backup.set(p, lnSpec, getopt.Option{})
		case backupOption:
			l.backup.set(p, lnSpec, o)
		case "S":
			l.backup.setSuffix(o.Value)
		case "f":
			l.force, l.ask = true, false
		case "i":
			l.ask, l.force = true, false
		case "n":
			noFollow = true
		case "r":
			l.relative = true
		case "s":
			l.symbolic = true
		case "t":
			target, hasTarget = o.Value, true
		case "T":
			noTarget = true
		case "v":
			l.verbose = true
		case "L":
			l.log = true
		case "P":
			l.log = false
		}
	}
	if l.relative && !l.symbolic {
		p.Errorf("cannot do --relative without --symbolic")
		return 1
	}
	t, ok := l.targets(args, target, hasTarget, noTarget, noFollow)
	if !ok {
		return 1
	}
	status := 0
	for _, src := range t.sources {
		if !l.link(src, t.at(src)) {
			status = 1
		}
	}
	return status
}

func (l *linker) targets(args []string, target string, hasTarget, noTarget, noFollow bool) (transfer, bool) {
	p := l.p
	if hasTarget && noTarget {
		p.Errorf("cannot combine --target-directory and --no-target-directory")
		return transfer{}, false
	}
	if len(args) == 0 {
		lnSpec.Fail(p, "missing file operand")
	}
	if noTarget {
		if len(args) == 1 {
			lnSpec.Fail(p, "missing destination file operand after %s", quoteName(args[0]))
		}
		if len(args) > 2 {
			lnSpec.Fail(p, "extra operand %s", quoteName(args[2]))
		}
		return transfer{args[:1], args[1], false}, true
	}
	if hasTarget {
		st, err := p.Stat(target)
		switch {
		case err != nil:
			p.Errorf("failed to access %s: %s", quoteName(target), proc.Strerror(err))
			return transfer{}, false
		case !st.IsDir():
			p.Errorf("target %s is not a directory", quoteName(target))
			return transfer{}, false
		}
		return transfer{args, target, true}, true
	}
	if len(args) == 1 {
		return transfer{args, ".", true}, true
	}
	last := args[len(args)-1]
	dir := isDir(p, last)
	if dir && noFollow {
		if st, err := p.Lstat(last); err == nil && st.Kind == vfs.Symlink {
			dir = false
		}
	}
	if dir {
		return transfer{args[:len(args)-1], last, true}, true
	}
	if len(args) > 2 {
		err := error(vfs.ENOTDIR)
		if _, e := p.Stat(last); e != nil {
			err = e
		}
		p.Errorf("target %s: %s", quoteName(last), proc.Strerror(err))
		return transfer{}, false
	}
	return transfer{args[:1], last, false}, true
}

func (l *linker) link(src, dst string) bool {
	p := l.p
	p.Tick(1)
	fail := func(format string, args ...any) bool {
		p.Errorf(format, args...)
		return false
	}
	var st vfs.Stat
	if !l.symbolic {
		stat := p.Lstat
		if l.log {
			stat = p.Stat
		}
		var err error
		if st, err = stat(src); err != nil {
			return fail("failed to access %s: %s", quoteName(src), proc.Strerror(err))
		}
		if st.IsDir() {
			return fail("%s: hard link not allowed for directory", quoteColon(src))
		}
	}
	target := src
	if l.relative {
		target = l.relativeTarget(src, dst)
	}
	extra := ""
	if old, err := p.Lstat(dst); dst != "" && err == nil && (l.force || l.ask || l.backup.kind != "") {
		switch {
		case old.IsDir():
			return fail("%s: cannot overwrite directory", quoteColon(dst))
		case l.same(src, st, dst, old):
			return fail("%s and %s are the same file", quoteName(src), quoteName(dst))
		case l.ask && !confirm(p, fmt.Sprintf("replace %s? ", quoteName(dst))):
			return true
		}
		if l.backup.kind != "" {
			to, err := l.backup.move(p, dst)
			if err != nil {
				return fail("cannot backup %s: %s", quoteName(dst), proc.Strerror(err))
			}
			extra = quoteName(to) + " ~ "
		} else if err := p.FS.Unlink(p.Abs(dst)); err != nil && !errors.Is(err, vfs.ENOENT) {
			return fail("cannot remove %s: %s", quoteName(dst), proc.Strerror(err))
		}
	}
	var err error
	arrow := "->"
	if dst == "" {
		err = vfs.ENOENT
	} else if l.symbolic {
		if target == "" {
			err = vfs.ENOENT
		} else {
			err = p.FS.Symlink(target, p.Abs(dst))
		}
	} else {
		arrow = "=>"
		from := p.Abs(src)
		if l.log {
			if real, rerr := p.FS.Realpath(from); rerr == nil {
				from = real
			}
		}
		err = p.FS.Link(from, p.Abs(dst))
	}
	if err != nil {
		kind, rest := "hard", ""
		switch {
		case l.symbolic:
			kind = "symbolic"
			if !errors.Is(err, vfs.EEXIST) && target != "" && !errors.Is(err, vfs.ENAMETOOLONG) {
				break
			}
		case !errors.Is(err, vfs.EEXIST) && !errors.Is(err, vfs.EDQUOT) && !errors.Is(err, vfs.ENOSPC) && !errors.Is(err, vfs.EROFS):
			rest = " => " + quoteName(src)
		}
		if l.symbolic && (errors.Is(err, vfs.ENAMETOOLONG) || target == "") {
			rest = " -> " + quoteName(target)
		}
		return fail("failed to create %s link %s%s: %s", kind, quoteName(dst), rest, proc.Strerror(err))
	}
	if l.verbose {
		fmt.Fprintf(p.Out, "%s%s %s %s\n", extra, quoteName(dst), arrow, quoteName(target))
	}
	return true
}

func (l *linker) same(src string, st vfs.Stat, dst string, old vfs.Stat) bool {
	if l.symbolic {
		// A symlink that would replace the file it points to.
		s, err := l.p.Stat(src)
		if err != nil || s.Ino != old.Ino {
			return false
		}
	} else if st.Ino != old.Ino {
		return false
	}
	a, err1 := canonical(l.p, dirName(src), canonExisting, false, false)
	b, err2 := canonical(l.p, dirName(dst), canonExisting, false, false)
	return err1 == nil && err2 == nil && a == b && baseName(src) == baseName(dst)
}

func (l *linker) relativeTarget(src, dst string) string {
	dir, err := canonical(l.p, dirName(dst), canonMissing, false, false)
	if err != nil {
		return src
	}
	to, err := canonical(l.p, src, canonMissing, false, false)
	if err != nil {
		return src
	}
	return relativeTo(to, dir)
}
