package file

import (
	"context"
	"errors"
	"fmt"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
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
	backup                                       program.Backups
}

func ln(_ context.Context, p *proc.Process) int {
	opts, args := lnSpec.Parse(p)
	l := &linker{p: p, backup: program.NewBackups(p)}
	var target string
	var hasTarget, noTarget, noFollow bool
	for _, o := range opts {
		switch o.Key {
		case "b":
			l.backup.Set(p, lnSpec, getopt.Option{})
		case program.BackupOption:
			l.backup.Set(p, lnSpec, o)
		case "S":
			l.backup.SetSuffix(o.Value)
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
	for _, src := range t.Sources {
		if !l.link(src, t.At(src)) {
			status = 1
		}
	}
	return status
}

func (l *linker) targets(args []string, target string, hasTarget, noTarget, noFollow bool) (program.Transfer, bool) {
	p := l.p
	if hasTarget && noTarget {
		p.Errorf("cannot combine --target-directory and --no-target-directory")
		return program.Transfer{}, false
	}
	if len(args) == 0 {
		lnSpec.Fail(p, "missing file operand")
	}
	if noTarget {
		if len(args) == 1 {
			lnSpec.Fail(p, "missing destination file operand after %s", program.QuoteName(args[0]))
		}
		if len(args) > 2 {
			lnSpec.Fail(p, "extra operand %s", program.QuoteName(args[2]))
		}
		return program.Transfer{Sources: args[:1], Dest: args[1]}, true
	}
	if hasTarget {
		st, err := p.Stat(target)
		switch {
		case err != nil:
			p.Errorf("failed to access %s: %s", program.QuoteName(target), proc.Strerror(err))
			return program.Transfer{}, false
		case !st.IsDir():
			p.Errorf("target %s is not a directory", program.QuoteName(target))
			return program.Transfer{}, false
		}
		return program.Transfer{Sources: args, Dest: target, IntoDir: true}, true
	}
	if len(args) == 1 {
		return program.Transfer{Sources: args, Dest: ".", IntoDir: true}, true
	}
	last := args[len(args)-1]
	dir := program.IsDir(p, last)
	if dir && noFollow {
		if st, err := p.Lstat(last); err == nil && st.Kind == vfs.Symlink {
			dir = false
		}
	}
	if dir {
		return program.Transfer{Sources: args[:len(args)-1], Dest: last, IntoDir: true}, true
	}
	if len(args) > 2 {
		err := error(vfs.ENOTDIR)
		if _, e := p.Stat(last); e != nil {
			err = e
		}
		p.Errorf("target %s: %s", program.QuoteName(last), proc.Strerror(err))
		return program.Transfer{}, false
	}
	return program.Transfer{Sources: args[:1], Dest: last}, true
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
			return fail("failed to access %s: %s", program.QuoteName(src), proc.Strerror(err))
		}
		if st.IsDir() {
			return fail("%s: hard link not allowed for directory", program.QuoteColon(src))
		}
	}
	target := src
	if l.relative {
		target = l.relativeTarget(src, dst)
	}
	extra := ""
	if old, err := p.Lstat(dst); dst != "" && err == nil && (l.force || l.ask || l.backup.Kind != "") {
		switch {
		case old.IsDir():
			return fail("%s: cannot overwrite directory", program.QuoteColon(dst))
		case l.same(src, st, dst, old):
			return fail("%s and %s are the same file", program.QuoteName(src), program.QuoteName(dst))
		case l.ask && !program.Confirm(p, fmt.Sprintf("replace %s? ", program.QuoteName(dst))):
			return true
		}
		if l.backup.Kind != "" {
			to, err := l.backup.Move(p, dst)
			if err != nil {
				return fail("cannot backup %s: %s", program.QuoteName(dst), proc.Strerror(err))
			}
			extra = program.QuoteName(to) + " ~ "
		} else if err := p.FS.Unlink(p.Abs(dst)); err != nil && !errors.Is(err, vfs.ENOENT) {
			return fail("cannot remove %s: %s", program.QuoteName(dst), proc.Strerror(err))
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
		case !errors.Is(err, vfs.EEXIST) && !errors.Is(err, vfs.EDQUOT) && !errors.Is(err, vfs.ENOSPC) &&
			!errors.Is(err, vfs.EROFS):
			rest = " => " + program.QuoteName(src)
		}
		if l.symbolic && (errors.Is(err, vfs.ENAMETOOLONG) || target == "") {
			rest = " -> " + program.QuoteName(target)
		}
		return fail("failed to create %s link %s%s: %s", kind, program.QuoteName(dst), rest, proc.Strerror(err))
	}
	if l.verbose {
		fmt.Fprintf(p.Out, "%s%s %s %s\n", extra, program.QuoteName(dst), arrow, program.QuoteName(target))
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
	a, err1 := program.Canonical(l.p, program.DirName(src), program.CanonExisting, false, false)
	b, err2 := program.Canonical(l.p, program.DirName(dst), program.CanonExisting, false, false)
	return err1 == nil && err2 == nil && a == b && program.BaseName(src) == program.BaseName(dst)
}

func (l *linker) relativeTarget(src, dst string) string {
	dir, err := program.Canonical(l.p, program.DirName(dst), program.CanonMissing, false, false)
	if err != nil {
		return src
	}
	to, err := program.Canonical(l.p, src, program.CanonMissing, false, false)
	if err != nil {
		return src
	}
	return program.RelativeTo(to, dir)
}
