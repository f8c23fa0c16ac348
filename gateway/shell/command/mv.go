package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
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
	backup                          backups
	made                            map[string]bool
}

func mv(_ context.Context, p *proc.Process) int {
	opts, args := mvSpec.Parse(p)
	m := &mover{p: p, backup: newBackups(p), made: map[string]bool{}}
	var target string
	var hasTarget, noTarget, strip bool
	for _, o := range opts {
		switch o.Key {
		case "b":
			m.backup.set(p, mvSpec, getopt.Option{})
		case backupOption:
			m.backup.set(p, mvSpec, o)
		case "S":
			m.backup.setSuffix(o.Value)
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
	if m.noClobber && m.backup.kind != "" {
		p.Errorf("options --backup and --no-clobber are mutually exclusive")
		mvSpec.Hint(p)
	}
	t, ok := resolveTargets(p, mvSpec, args, target, hasTarget, noTarget)
	if !ok {
		return 1
	}
	status := 0
	for _, src := range t.sources {
		if strip {
			src = trimSlashes(src)
		}
		if !m.move(src, t.at(src)) {
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
		return m.fail("cannot stat %s: %s", quoteName(src), proc.Strerror(err))
	}
	extra := ""
	if dstStat, err := p.Lstat(dst); err == nil {
		same := dstStat.Ino == st.Ino
		if same && (st.IsDir() || m.backup.kind == "" || m.sameEntry(src, dst)) {
			return m.fail("%s and %s are the same file", quoteName(src), quoteName(dst))
		}
		switch {
		case !st.IsDir() && dstStat.IsDir():
			return m.fail("cannot overwrite directory %s with non-directory", quoteName(dst))
		case st.IsDir() && !dstStat.IsDir() && m.backup.kind == "":
			return m.fail("cannot overwrite non-directory %s with directory %s", quoteName(dst), quoteName(src))
		case m.update && !st.IsDir() && dstStat.Mtime >= st.Mtime:
			return true
		case m.noClobber:
			return true
		case m.ask && !confirm(p, fmt.Sprintf("overwrite %s? ", quoteName(dst))):
			return true
		case m.made[dst] && !dstStat.IsDir():
			return m.fail("will not overwrite just-created %s with %s", quoteName(dst), quoteName(src))
		}
		if m.backup.kind != "" {
			to, err := m.backup.move(p, dst)
			if err != nil {
				return m.fail("cannot backup %s: %s", quoteName(dst), proc.Strerror(err))
			}
			extra = " (backup: " + quoteName(to) + ")"
		}
	}
	if err := p.FS.Rename(p.Abs(src), p.Abs(dst)); err != nil {
		switch {
		case errors.Is(err, vfs.EINVAL) && st.IsDir():
			return m.fail("cannot move %s to a subdirectory of itself, %s", quoteName(src), quoteName(dst))
		case dst == "":
			err = vfs.ENOENT
		case !st.IsDir() && strings.HasSuffix(dst, "/") && errors.Is(err, vfs.ENOENT):
			err = vfs.ENOTDIR
		}
		return m.fail("cannot move %s to %s: %s", quoteName(src), quoteName(dst), proc.Strerror(err))
	}
	m.made[dst] = true
	if m.verbose {
		fmt.Fprintf(p.Out, "renamed %s -> %s%s\n", quoteName(src), quoteName(dst), extra)
	}
	return true
}

func (m *mover) sameEntry(a, b string) bool {
	da, err1 := canonical(m.p, dirName(a), canonExisting, false, false)
	db, err2 := canonical(m.p, dirName(b), canonExisting, false, false)
	return err1 == nil && err2 == nil && da == db && baseName(a) == baseName(b)
}
