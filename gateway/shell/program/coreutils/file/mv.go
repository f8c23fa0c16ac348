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

var mvSpec = getopt.New("bfint:uvS:TZ",
	"backup:: context force=f interactive=i no-clobber=n no-target-directory=T strip-trailing-slashes suffix:=S "+
		"target-directory:=t update=u verbose=v").
	WithUsage("[OPTION]... [-T] SOURCE DEST\n  or:  mv [OPTION]... SOURCE... DIRECTORY\n  or:  mv [OPTION]... -t DIRECTORY SOURCE...",
		"Rename SOURCE to DEST, or move SOURCE(s) to DIRECTORY.")

type mover struct {
	p                               *proc.Process
	ask, noClobber, update, verbose bool
	backup                          program.Backups
	made                            map[string]bool
}

func mv(_ context.Context, p *proc.Process) int {
	opts, args := mvSpec.Parse(p)
	m := &mover{p: p, backup: program.NewBackups(p), made: map[string]bool{}}
	var target string
	var hasTarget, noTarget, strip bool
	for _, o := range opts {
		switch o.Key {
		case "b":
			m.backup.Set(p, mvSpec, getopt.Option{})
		case program.BackupOption:
			m.backup.Set(p, mvSpec, o)
		case "S":
			m.backup.SetSuffix(o.Value)
		case "f":
			m.ask, m.noClobber = false, false
		case "i":
			m.ask, m.noClobber = true, false
		case "n":
			m.ask, m.noClobber = false, true
		case "t":
			target, hasTarget = o.Value, true
		case "T":
			noTarget = true
		case "u":
			m.update = true
		case "v":
			m.verbose = true
		case "strip-trailing-slashes":
			strip = true
		}
	}
	if m.noClobber && m.backup.Kind != "" {
		p.Errorf("options --backup and --no-clobber are mutually exclusive")
		mvSpec.Hint(p)
	}
	t, ok := program.ResolveTargets(p, mvSpec, args, target, hasTarget, noTarget)
	if !ok {
		return 1
	}
	status := 0
	for _, src := range t.Sources {
		if strip {
			src = program.TrimSlashes(src)
		}
		if !m.move(src, t.At(src)) {
			status = 1
		}
	}
	return status
}

func (m *mover) fail(format string, args ...any) bool {
	m.p.Errorf(format, args...)
	return false
}

func (m *mover) move(src, dst string) bool {
	p := m.p
	p.Tick(1)
	st, err := p.Lstat(src)
	if err != nil {
		return m.fail("cannot stat %s: %s", program.QuoteName(src), proc.Strerror(err))
	}
	extra := ""
	if dstStat, err := p.Lstat(dst); err == nil {
		same := dstStat.Ino == st.Ino
		if same && (st.IsDir() || m.backup.Kind == "" || m.sameEntry(src, dst)) {
			return m.fail("%s and %s are the same file", program.QuoteName(src), program.QuoteName(dst))
		}
		switch {
		case !st.IsDir() && dstStat.IsDir():
			return m.fail("cannot overwrite directory %s with non-directory", program.QuoteName(dst))
		case st.IsDir() && !dstStat.IsDir() && m.backup.Kind == "":
			return m.fail("cannot overwrite non-directory %s with directory %s", program.QuoteName(dst), program.QuoteName(src))
		case m.update && !st.IsDir() && dstStat.Mtime >= st.Mtime:
			return true
		case m.noClobber:
			return true
		case m.ask && !program.Confirm(p, fmt.Sprintf("overwrite %s? ", program.QuoteName(dst))):
			return true
		case m.made[dst] && !dstStat.IsDir():
			return m.fail("will not overwrite just-created %s with %s", program.QuoteName(dst), program.QuoteName(src))
		}
		if m.backup.Kind != "" {
			to, err := m.backup.Move(p, dst)
			if err != nil {
				return m.fail("cannot backup %s: %s", program.QuoteName(dst), proc.Strerror(err))
			}
			extra = " (backup: " + program.QuoteName(to) + ")"
		}
	}
	if err := p.FS.Rename(p.Abs(src), p.Abs(dst)); err != nil {
		switch {
		case errors.Is(err, vfs.EINVAL) && st.IsDir():
			return m.fail("cannot move %s to a subdirectory of itself, %s", program.QuoteName(src), program.QuoteName(dst))
		case dst == "":
			err = vfs.ENOENT
		case !st.IsDir() && strings.HasSuffix(dst, "/") && errors.Is(err, vfs.ENOENT):
			err = vfs.ENOTDIR
		}
		return m.fail("cannot move %s to %s: %s", program.QuoteName(src), program.QuoteName(dst), proc.Strerror(err))
	}
	m.made[dst] = true
	if m.verbose {
		fmt.Fprintf(p.Out, "renamed %s -> %s%s\n", program.QuoteName(src), program.QuoteName(dst), extra)
	}
	return true
}

func (m *mover) sameEntry(a, b string) bool {
	da, err1 := program.Canonical(m.p, program.DirName(a), program.CanonExisting, false, false)
	db, err2 := program.Canonical(m.p, program.DirName(b), program.CanonExisting, false, false)
	return err1 == nil && err2 == nil && da == db && program.BaseName(a) == program.BaseName(b)
}
