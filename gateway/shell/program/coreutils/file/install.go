package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var installSpec = getopt.New("bcCsDdg:m:o:pt:TvS:Z",
	"backup:: compare=C context:: debug directory=d group:=g mode:=m no-target-directory=T owner:=o preserve-timestamps=p preserve-context strip=s strip-program: suffix:=S target-directory:=t verbose=v").
	WithUsage("[OPTION]... [-T] SOURCE DEST\n  or:  install [OPTION]... SOURCE... DIRECTORY\n  or:  install [OPTION]... -t DIRECTORY SOURCE...\n  or:  install [OPTION]... -d DIRECTORY...",
		"Copy files and set attributes.")

type installer struct {
	p                                *proc.Process
	mode                             program.ModeChange
	owner                            ownership
	leading, compare, times, verbose bool
	backup                           program.Backups
}

func install(_ context.Context, p *proc.Process) int {
	opts, args := installSpec.Parse(p)
	in := &installer{p: p, owner: ownership{-1, -1}, backup: program.NewBackups(p)}
	mode, owner, group, target := "0755", "", "", ""
	var hasTarget, noTarget, directories, strip, stripProgram, keepContext bool
	for _, o := range opts {
		switch o.Key {
		case "b":
			in.backup.Set(p, installSpec, getopt.Option{})
		case program.BackupOption:
			in.backup.Set(p, installSpec, o)
		case "S":
			in.backup.SetSuffix(o.Value)
		case "C":
			in.compare = true
		case "D":
			in.leading = true
		case "d":
			directories = true
		case "g":
			group = o.Value
		case "m":
			mode = o.Value
		case "o":
			owner = o.Value
		case "p":
			in.times = true
		case "s":
			strip = true
		case "strip-program":
			stripProgram = true
		case "preserve-context":
			keepContext = true
		case "t":
			target, hasTarget = o.Value, true
		case "T":
			noTarget = true
		case "v":
			in.verbose = true
		}
	}
	switch {
	case directories && strip:
		p.Errorf("the strip option may not be used when installing a directory")
		return 1
	case directories && hasTarget:
		p.Errorf("target directory not allowed when installing a directory")
		return 1
	case keepContext:
		p.Errorf("WARNING: ignoring --preserve-context; this kernel is not SELinux-enabled")
	}
	if hasTarget && !noTarget && !directories {
		switch st, err := p.Stat(target); {
		case err == nil && !st.IsDir():
			p.Errorf("failed to access %s: %s", program.QuoteName(target), vfs.ENOTDIR)
			return 1
		case err != nil && !in.leading:
			p.Errorf("failed to access %s: %s", program.QuoteName(target), proc.Strerror(err))
			return 1
		}
	}
	switch {
	case len(args) == 0 || len(args) == 1 && !directories && !hasTarget:
		if len(args) == 0 {
			installSpec.Fail(p, "missing file operand")
		}
		installSpec.Fail(p, "missing destination file operand after %s", program.QuoteName(args[0]))
	case noTarget && hasTarget:
		p.Errorf("cannot combine --target-directory (-t) and --no-target-directory (-T)")
		return 1
	case noTarget && len(args) > 2 && !directories:
		installSpec.Fail(p, "extra operand %s", program.QuoteName(args[2]))
	}
	var ok bool
	if in.mode, ok = program.ParseMode(mode); !ok {
		p.Errorf("invalid mode %s", program.Quote(mode))
		return 1
	}
	switch {
	case stripProgram && !strip:
		p.Errorf("WARNING: ignoring --strip-program option as -s option was not specified")
	case in.compare && in.times:
		installSpec.Fail(p, "options --compare (-C) and --preserve-timestamps are mutually exclusive")
	case in.compare && strip:
		installSpec.Fail(p, "options --compare (-C) and --strip are mutually exclusive")
	}
	if owner != "" {
		u, found := program.UserByName(p, owner)
		if n, number := program.AccountNumber(owner); !found && number {
			u, found = program.Account{UID: n}, true
		}
		if !found {
			p.Errorf("invalid user %s", program.Quote(owner))
			return 1
		}
		in.owner.uid = int(u.UID)
	}
	if group != "" {
		gid, found := program.GroupByName(p, group)
		if !found {
			gid, found = program.AccountNumber(group)
		}
		if !found {
			p.Errorf("invalid group %s", program.Quote(group))
			return 1
		}
		in.owner.gid = int(gid)
	}
	if directories {
		return in.directories(args)
	}
	return in.files(args, target, hasTarget, noTarget, strip)
}

func (in *installer) directories(args []string) int {
	status := 0
	for _, dir := range args {
		if !in.directory(dir) {
			status = 1
		}
	}
	return status
}

func (in *installer) directory(dir string) bool {
	p := in.p
	if !in.parents(dir) {
		return false
	}
	err := p.FS.Mkdir(p.Abs(dir), 0o755)
	switch {
	case err == nil:
		if in.verbose {
			p.Out.WriteString("install: creating directory " + program.QuoteName(program.TrimSlashes(dir)) + "\n")
		}
	case !errors.Is(err, vfs.EEXIST) || !program.IsDir(p, dir):
		p.Errorf("cannot create directory %s: %s", program.Quote(dir), proc.Strerror(err))
		return false
	}
	if in.owner != (ownership{-1, -1}) {
		if err := chownPath(p, dir, in.owner); err != nil {
			p.Errorf("cannot change owner and permissions of %s: %s", program.Quote(dir), proc.Strerror(err))
			return false
		}
	}
	if err := p.FS.Chmod(p.Abs(dir), in.mode.Apply(0, true, 0)); err != nil {
		p.Errorf("cannot change permissions of %s: %s", program.Quote(dir), proc.Strerror(err))
		return false
	}
	return true
}

// parents makes what leads to name.
func (in *installer) parents(name string) bool {
	p := in.p
	for i := 1; i < len(name); i++ {
		if name[i] != '/' || name[i-1] == '/' || strings.Trim(name[i:], "/") == "" {
			continue
		}
		parent := name[:i]
		err := p.FS.Mkdir(p.Abs(parent), 0o755)
		switch {
		case err == nil:
			if in.verbose {
				p.Out.WriteString("install: creating directory " + program.QuoteName(parent) + "\n")
			}
		case errors.Is(err, vfs.EEXIST):
			if !program.IsDir(p, parent) {
				p.Errorf("cannot create directory %s: %s", program.Quote(parent), vfs.ENOTDIR)
				return false
			}
		default:
			p.Errorf("cannot create directory %s: %s", program.Quote(parent), proc.Strerror(err))
			return false
		}
	}
	return true
}

func (in *installer) files(args []string, target string, hasTarget, noTarget, strip bool) int {
	p := in.p
	t := program.Transfer{Sources: args, Dest: target, IntoDir: true}
	if !hasTarget {
		last := args[len(args)-1]
		t = program.Transfer{Sources: args[:len(args)-1], Dest: last}
		if !noTarget {
			st, err := p.Stat(last)
			t.IntoDir = err == nil && st.IsDir()
			if len(args) > 2 && !t.IntoDir {
				if err == nil {
					err = vfs.ENOTDIR
				}
				p.Errorf("target %s: %s", program.QuoteName(last), proc.Strerror(err))
				return 1
			}
		}
	} else if in.leading && !program.IsDir(p, target) && !in.parents(program.JoinPath(target, "x")) {
		return 1
	}
	status := 0
	for _, src := range t.Sources {
		dst := t.At(src)
		if in.leading && !t.IntoDir && !in.parents(dst) {
			status = 1
			continue
		}
		if !in.file(src, dst) {
			status = 1
			continue
		}
		if strip {
			p.Errorf("cannot run strip: %s", vfs.ENOENT)
			_ = p.FS.Unlink(p.Abs(dst))
			return 1
		}
	}
	return status
}

func (in *installer) file(src, dst string) bool {
	p := in.p
	st, err := p.Stat(src)
	if err != nil {
		p.Errorf("cannot stat %s: %s", program.QuoteName(src), proc.Strerror(err))
		return false
	}
	if st.IsDir() {
		p.Errorf("omitting directory %s", program.QuoteName(src))
		return false
	}
	mode := in.mode.Apply(0, false, 0)
	if in.compare && in.unchanged(src, st, dst, mode) {
		return true
	}
	note := ""
	switch old, err := p.Lstat(dst); {
	case err == nil && old.IsDir():
		p.Errorf("cannot overwrite directory %s with non-directory", program.QuoteName(dst))
		return false
	case err == nil:
		if (&copier{p: p, removeDst: true}).sameFile(src, st, dst, old, old) {
			p.Errorf("%s and %s are the same file", program.QuoteName(src), program.QuoteName(dst))
			return false
		}
		backup, err := in.backup.Move(p, dst)
		if err != nil {
			p.Errorf("cannot backup %s: %s", program.QuoteName(dst), proc.Strerror(err))
			return false
		}
		if backup != "" {
			note = " (backup: " + program.QuoteName(backup) + ")"
			break
		}
		if err := p.FS.Unlink(p.Abs(dst)); err != nil {
			p.Errorf("cannot remove %s: %s", program.QuoteName(dst), proc.Strerror(err))
			return false
		}
		if in.verbose {
			fmt.Fprintf(p.Out, "removed %s\n", program.QuoteName(dst))
		}
	}
	if in.verbose {
		fmt.Fprintf(p.Out, "%s -> %s%s\n", program.QuoteName(src), program.QuoteName(dst), note)
	}
	c := &copier{p: p}
	if !c.copyContent(src, dst, vfs.Stat{Mode: 0o600}) {
		return false
	}
	if in.times {
		if err := p.FS.Utimes(p.Abs(dst), st.Mtime, true); err != nil {
			p.Errorf("cannot set timestamps for %s: %s", program.QuoteName(dst), proc.Strerror(err))
			return false
		}
	}
	if in.owner != (ownership{-1, -1}) {
		if err := chownPath(p, dst, in.owner); err != nil {
			p.Errorf("cannot change ownership of %s: %s", program.QuoteName(dst), proc.Strerror(err))
			return false
		}
	}
	if err := p.FS.Chmod(p.Abs(dst), mode); err != nil {
		p.Errorf("cannot change permissions of %s: %s", program.QuoteName(dst), proc.Strerror(err))
		return false
	}
	return true
}

// unchanged reports whether dst is already what install -C would make of it.
func (in *installer) unchanged(src string, st vfs.Stat, dst string, mode uint32) bool {
	p := in.p
	old, err := p.Lstat(dst)
	if err != nil || old.Kind != vfs.Regular || st.Kind != vfs.Regular || old.Size != st.Size || old.Mode != mode {
		return false
	}
	uid, gid := int(p.User.UID), int(p.User.GID)
	if in.owner.uid >= 0 {
		uid = in.owner.uid
	}
	if in.owner.gid >= 0 {
		gid = in.owner.gid
	}
	if int(old.UID) != uid || int(old.GID) != gid {
		return false
	}
	a, err1 := p.Open(src, vfs.ReadOnly, 0)
	if err1 != nil {
		return false
	}
	defer a.Close()
	b, err2 := p.Open(dst, vfs.ReadOnly, 0)
	if err2 != nil {
		return false
	}
	defer b.Close()
	x, y := make([]byte, program.BufferSize), make([]byte, program.BufferSize)
	for at := int64(0); at < st.Size; {
		n, _ := a.ReadAt(x[:min(int64(len(x)), st.Size-at)], at) // a short read shows in n
		m, _ := b.ReadAt(y[:n], at)
		p.Tick(1 + n>>10)
		if n == 0 || !bytes.Equal(x[:n], y[:m]) {
			return false
		}
		at += int64(n)
	}
	return true
}
