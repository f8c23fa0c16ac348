package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var cpSpec = getopt.New("abdfHilLnprst:uvxPRS:TZ",
	"archive=a attributes-only backup:: copy-contents dereference=L force=f interactive=i link=l no-clobber=n "+
		"no-dereference=P no-preserve: no-target-directory=T one-file-system=x parents path=parents preserve:: recursive=R "+
		"remove-destination sparse: reflink:: strip-trailing-slashes suffix:=S symbolic-link=s target-directory:=t update=u verbose=v context::").
	WithUsage("[OPTION]... [-T] SOURCE DEST\n  or:  cp [OPTION]... SOURCE... DIRECTORY\n  or:  cp [OPTION]... -t DIRECTORY SOURCE...",
		"Copy SOURCE to DEST, or multiple SOURCE(s) to DIRECTORY.")

// copier is one run of cp (or of install and mv across filesystems).
type copier struct {
	p                                        *proc.Process
	recursive, force, ask, noClobber, update bool
	link, symlink, attributesOnly, removeDst bool
	followAll, followArgs, noFollow          bool
	keepMode, keepTimes, keepOwner, keepLink bool
	dropMode                                 bool
	verbose                                  bool
	backup                                   program.Backups

	copied   map[uint64]string // sources with several names, and where they went
	created  map[uint64]bool   // directories made by this run
	seen     map[string]bool   // source operands
	made     map[string]bool   // destinations made by this run
	top      [2]string
	intoSelf bool
}

func cp(_ context.Context, p *proc.Process) int {
	opts, args := cpSpec.Parse(p)
	c := &copier{p: p, backup: program.NewBackups(p)}
	var target string
	var hasTarget, noTarget, parents, strip bool
	for _, o := range opts {
		switch o.Key {
		case "a":
			c.recursive, c.noFollow, c.followAll = true, true, false
			c.preserve("all", true)
		case "b":
			c.backup.Set(p, cpSpec, getopt.Option{})
		case program.BackupOption:
			c.backup.Set(p, cpSpec, o)
		case "S":
			c.backup.SetSuffix(o.Value)
		case "d":
			c.noFollow, c.followAll, c.keepLink = true, false, true
		case "f":
			c.force = true
		case "H":
			c.followArgs, c.followAll, c.noFollow = true, false, false
		case "i":
			c.ask, c.noClobber = true, false
		case "l":
			c.link = true
		case "L":
			c.followAll, c.noFollow, c.followArgs = true, false, false
		case "n":
			c.noClobber, c.ask = true, false
		case "p":
			c.preserve("mode,ownership,timestamps", true)
		case "preserve":
			list := o.Value
			if !o.Has {
				list = "mode,ownership,timestamps"
			}
			c.preserve(list, true)
		case "no-preserve":
			c.preserve(o.Value, false)
		case "P":
			c.noFollow, c.followAll, c.followArgs = true, false, false
		case "r", "R":
			c.recursive = true
		case "s":
			c.symlink = true
		case "t":
			target, hasTarget = o.Value, true
		case "T":
			noTarget = true
		case "u":
			c.update = true
		case "v":
			c.verbose = true
		case "attributes-only":
			c.attributesOnly = true
		case "remove-destination":
			c.removeDst = true
		case "parents":
			parents = true
		case "strip-trailing-slashes":
			strip = true
		case "sparse":
			program.Choose(p, cpSpec, o.Key, o.Value, "never", "auto", "always")
		case "reflink":
			if o.Has {
				program.Choose(p, cpSpec, o.Key, o.Value, "auto", "always", "never")
			}
		}
	}
	if c.link && c.symlink {
		p.Errorf("cannot make both hard and symbolic links")
		cpSpec.Hint(p)
	}
	if c.noClobber && c.backup.Kind != "" {
		p.Errorf("options --backup and --no-clobber are mutually exclusive")
		cpSpec.Hint(p)
	}
	t, ok := program.ResolveTargets(p, cpSpec, args, target, hasTarget, noTarget)
	if !ok {
		return 1
	}
	if parents && !t.IntoDir {
		cpSpec.Fail(p, "with --parents, the destination must be a directory")
	}
	status := 0
	for _, src := range t.Sources {
		if strip {
			src = program.TrimSlashes(src)
		}
		dst := t.At(src)
		if parents {
			var ok bool
			if dst, ok = c.makeParents(src, t.Dest); !ok {
				status = 1
				continue
			}
		} else if t.IntoDir && (program.BaseName(src) == ".." || program.BaseName(src) == "/") {
			dst = t.Dest
		}
		if !c.run(src, dst) {
			status = 1
		}
	}
	return status
}

func (c *copier) preserve(list string, on bool) {
	for word := range strings.SplitSeq(list, ",") {
		switch program.Choose(c.p, cpSpec, map[bool]string{true: "preserve", false: "no-preserve"}[on], word,
			"mode", "timestamps", "ownership", "links", "context", "xattr", "all") {
		case "mode":
			c.keepMode, c.dropMode = on, !on
		case "timestamps":
			c.keepTimes = on
		case "ownership":
			c.keepOwner = on
		case "links":
			c.keepLink = on
		case "all":
			c.keepMode, c.keepTimes, c.keepOwner, c.keepLink = on, on, on, on
			c.dropMode = !on
		}
	}
}

// makeParents makes the directories that --parents asks for and returns the destination.
func (c *copier) makeParents(src, dir string) (string, bool) {
	src = program.TrimSlashes(src)
	dst := program.JoinPath(dir, strings.TrimLeft(src, "/"))
	for i := 1; i < len(src); i++ {
		if src[i] != '/' || src[i-1] == '/' {
			continue
		}
		from := src[:i]
		to := program.JoinPath(dir, strings.TrimLeft(from, "/"))
		if program.IsDir(c.p, to) {
			continue
		}
		st, err := c.p.Stat(from)
		if err != nil {
			c.p.Errorf("failed to get attributes of %s: %s", program.QuoteName(from), proc.Strerror(err))
			return "", false
		}
		mode := st.Mode &^ c.p.Umask
		if c.keepMode {
			mode = st.Mode
		}
		if err := c.p.FS.Mkdir(c.p.Abs(to), mode); err != nil {
			c.p.Errorf("cannot make directory %s: %s", program.QuoteName(to), proc.Strerror(err))
			return "", false
		}
		if c.verbose {
			fmt.Fprintf(c.p.Out, "%s -> %s\n", from, to)
		}
	}
	return dst, true
}

// run copies one operand.
func (c *copier) run(src, dst string) bool {
	if c.seen == nil {
		c.copied, c.created, c.seen, c.made = map[uint64]string{}, map[uint64]bool{}, map[string]bool{}, map[string]bool{}
	}
	c.top = [2]string{src, dst}
	c.intoSelf = false
	if kind := c.backup.Kind; src == dst && c.force && kind != "" {
		if st, err := c.p.Stat(src); err == nil && st.Kind == vfs.Regular { // a copy of itself: only the backup is made
			dst = c.backup.Name(c.p, dst)
			c.backup.Kind = ""
			defer func() { c.backup.Kind = kind }()
		}
	}
	return c.copy(src, dst, true, 0)
}

func (c *copier) fail(format string, args ...any) bool {
	c.p.Errorf(format, args...)
	return false
}

func (c *copier) follows(arg bool) bool {
	switch {
	case c.followAll:
		return true
	case c.noFollow:
		return false
	case c.followArgs:
		return arg
	}
	return !c.recursive || c.link
}

func (c *copier) copy(src, dst string, arg bool, depth int) bool {
	p := c.p
	p.Tick(1)
	stat := p.Lstat
	if c.follows(arg) {
		stat = p.Stat
	}
	st, err := stat(src)
	if err != nil {
		return c.fail("cannot stat %s: %s", program.QuoteName(src), proc.Strerror(err))
	}
	if st.IsDir() && !c.recursive {
		return c.fail("-r not specified; omitting directory %s", program.QuoteName(src))
	}
	if arg {
		if c.seen[src] && (st.IsDir() || c.backup.Kind == "") {
			kind := "file"
			if st.IsDir() {
				kind = "directory"
			}
			p.Errorf("warning: source %s %s specified more than once", kind, program.QuoteName(src))
			return true
		}
		c.seen[src] = true
	}
	if depth >= program.MaxTreeDepth {
		return c.fail("cannot stat %s: %s", program.QuoteName(src), vfs.ENAMETOOLONG)
	}
	ok, goOn := c.prepare(src, dst, st, arg)
	if !goOn {
		return ok
	}
	if st.IsDir() {
		return c.copyDir(src, dst, st, depth)
	}
	if c.keepLink && st.Nlink > 1 && !c.link && !c.symlink {
		if first, ok := c.copied[st.Ino]; ok {
			if err := c.relink(first, dst); err != nil {
				return c.fail("cannot create hard link %s to %s: %s", program.QuoteName(dst), program.QuoteName(first),
					proc.Strerror(err))
			}
			return true
		}
		c.copied[st.Ino] = dst
	}
	if arg {
		c.made[dst] = true
	}
	switch {
	case c.link:
		if err := c.hardLink(src, dst); err != nil {
			return c.fail("cannot create hard link %s to %s: %s", program.QuoteName(dst), program.QuoteName(src),
				proc.Strerror(err))
		}
		return true
	case c.symlink:
		return c.makeSymlink(src, dst)
	case st.Kind == vfs.Symlink:
		target, err := p.FS.Readlink(p.Abs(src))
		if err != nil {
			return c.fail("cannot read symbolic link %s: %s", program.QuoteName(src), proc.Strerror(err))
		}
		if err := p.FS.Symlink(target, p.Abs(dst)); err != nil {
			return c.fail("cannot create symbolic link %s: %s", program.QuoteName(dst), proc.Strerror(err))
		}
		return c.keep(dst, st, false)
	case st.Kind != vfs.Regular && c.recursive:
		if err := p.FS.Mknod(p.Abs(dst), st.Kind, st.Mode&^p.Umask, st.Rdev); err != nil {
			return c.fail("cannot create special file %s: %s", program.QuoteName(dst), proc.Strerror(err))
		}
		return c.keep(dst, st, true)
	}
	return c.copyContent(src, dst, st)
}

// prepare looks at what is at dst, asks, backs it up or removes it. When goOn is false the copy is settled.
func (c *copier) prepare(src, dst string, st vfs.Stat, arg bool) (ok, goOn bool) {
	p := c.p
	said := false
	say := func(extra string) {
		if c.verbose && !st.IsDir() && !said {
			said = true
			fmt.Fprintf(p.Out, "%s -> %s%s\n", program.QuoteName(src), program.QuoteName(dst), extra)
		}
	}
	lst, lerr := p.Lstat(dst)
	if lerr != nil {
		if !errors.Is(lerr, vfs.ENOENT) {
			if errors.Is(lerr, vfs.ENOTDIR) && !st.IsDir() {
				return true, true // said when the file is made
			}
			return c.fail("failed to access %s: %s", program.QuoteName(dst), proc.Strerror(lerr)), false
		}
		if st.IsDir() && strings.HasSuffix(dst, "/") || !strings.HasSuffix(dst, "/") {
			say("")
		}
		return true, true
	}
	useLink := c.link || c.symlink || c.removeDst || c.backup.Kind != "" || st.Kind != vfs.Regular && st.Kind != vfs.Dir
	dstStat, exists := lst, true
	if lst.Kind == vfs.Symlink && !useLink {
		var err error
		dstStat, err = p.Stat(dst)
		exists = err == nil
		if !exists {
			if st.Kind == vfs.Regular && c.p.Getenv("POSIXLY_CORRECT") == "" {
				return c.fail("not writing through dangling symlink %s", program.QuoteName(dst)), false
			}
			if st.IsDir() {
				return c.fail("cannot overwrite non-directory %s with directory %s", program.QuoteName(dst),
					program.QuoteName(src)), false
			}
		}
	}
	if exists && c.sameFile(src, st, dst, lst, dstStat) {
		if c.link && dstStat.Ino == st.Ino && !st.IsDir() {
			return true, false
		}
		return c.fail("%s and %s are the same file", program.QuoteName(src), program.QuoteName(dst)), false
	}
	if !st.IsDir() {
		if dstStat.IsDir() && exists {
			return c.fail("cannot overwrite directory %s with non-directory", program.QuoteName(dst)), false
		}
		if c.update && exists && dstStat.Mtime >= st.Mtime {
			return true, false
		}
		if c.noClobber {
			return true, false
		}
		if c.ask && !program.Confirm(p, fmt.Sprintf("overwrite %s? ", program.QuoteName(dst))) {
			return true, false
		}
		if arg && c.made[dst] {
			return c.fail("will not overwrite just-created %s with %s", program.QuoteName(dst), program.QuoteName(src)), false
		}
	} else if !dstStat.IsDir() {
		if c.backup.Kind == "" {
			return c.fail("cannot overwrite non-directory %s with directory %s", program.QuoteName(dst), program.QuoteName(src)),
				false
		}
	}
	if c.backup.Kind != "" && !dstStat.IsDir() {
		to, err := c.backup.Move(p, dst)
		if err != nil {
			return c.fail("cannot backup %s: %s", program.QuoteName(dst), proc.Strerror(err)), false
		}
		say(" (backup: " + program.QuoteName(to) + ")")
		return true, true
	}
	unlink := c.removeDst || c.link && c.force || c.symlink && c.force || c.keepLink && lst.Nlink > 1 ||
		st.Kind == vfs.Symlink || st.Kind != vfs.Regular && c.recursive
	if unlink && !lst.IsDir() && !st.IsDir() {
		if err := p.FS.Unlink(p.Abs(dst)); err != nil {
			return c.fail("cannot remove %s: %s", program.QuoteName(dst), proc.Strerror(err)), false
		}
		if c.verbose {
			fmt.Fprintf(p.Out, "removed %s\n", program.QuoteName(dst))
		}
	}
	say("")
	return true, true
}

// sameFile reports whether writing dst would destroy src.
func (c *copier) sameFile(src string, st vfs.Stat, dst string, lst, dstStat vfs.Stat) bool {
	if dstStat.Ino != st.Ino {
		// Through a symlink at dst the same inode is reached even when it was not followed.
		if lst.Kind != vfs.Symlink || st.Kind == vfs.Symlink || c.removeDst || c.backup.Kind != "" || c.link && c.force ||
			c.symlink && c.force {
			return false
		}
		through, err := c.p.Stat(dst)
		return err == nil && through.Ino == st.Ino
	}
	if st.IsDir() {
		return true
	}
	if c.removeDst || c.backup.Kind != "" {
		a, err1 := program.Canonical(c.p, program.DirName(src), program.CanonExisting, false, false)
		b, err2 := program.Canonical(c.p, program.DirName(dst), program.CanonExisting, false, false)
		sameEntry := err1 == nil && err2 == nil && a == b && program.BaseName(src) == program.BaseName(dst)
		return sameEntry
	}
	return true
}

func (c *copier) hardLink(from, to string) error {
	p := c.p
	full := p.Abs(from)
	if c.follows(true) {
		if real, err := p.FS.Realpath(full); err == nil {
			full = real
		}
	}
	return p.FS.Link(full, p.Abs(to))
}

// relink is hardLink over what may be at to.
func (c *copier) relink(from, to string) error {
	err := c.hardLink(from, to)
	if errors.Is(err, vfs.EEXIST) && c.p.FS.Unlink(c.p.Abs(to)) == nil {
		err = c.hardLink(from, to)
	}
	return err
}

func (c *copier) makeSymlink(src, dst string) bool {
	if !strings.HasPrefix(src, "/") && strings.Contains(program.TrimSlashes(dst), "/") && program.DirName(dst) != "." {
		return c.fail("%s: can make relative symbolic links only in current directory", program.QuoteColon(dst))
	}
	if err := c.p.FS.Symlink(src, c.p.Abs(dst)); err != nil {
		return c.fail("cannot create symbolic link %s to %s: %s", program.QuoteName(dst), program.QuoteName(src),
			proc.Strerror(err))
	}
	return true
}

func (c *copier) copyDir(src, dst string, st vfs.Stat, depth int) bool {
	p := c.p
	if c.created[st.Ino] {
		if !c.intoSelf {
			c.p.Errorf("cannot copy a directory, %s, into itself, %s", program.QuoteName(c.top[0]), program.QuoteName(c.top[1]))
			c.intoSelf = true
		}
		return false
	}
	made := false
	if !program.IsDir(p, dst) {
		if err := p.FS.Mkdir(strings.TrimRight(p.Abs(dst), "/"), st.Mode&^p.Umask|0o700); err != nil {
			return c.fail("cannot create directory %s: %s", program.QuoteName(dst), proc.Strerror(err))
		}
		made = true
		if c.verbose {
			fmt.Fprintf(p.Out, "%s -> %s\n", program.QuoteName(src), program.QuoteName(dst))
		}
		if d, err := p.Stat(dst); err == nil {
			c.created[d.Ino] = true
		}
	}
	entries, err := p.ReadDir(src)
	if err != nil {
		return c.fail("cannot access %s: %s", program.QuoteName(src), proc.Strerror(err))
	}
	ok := true
	for _, e := range entries {
		if !c.copy(program.JoinPath(src, e.Name), program.JoinPath(dst, e.Name), false, depth+1) {
			ok = false
		}
	}
	if made && !c.keepMode {
		mode := st.Mode &^ p.Umask
		if c.dropMode {
			mode = 0o777 &^ p.Umask
		}
		if mode != st.Mode&^p.Umask|0o700 {
			if err := p.FS.Chmod(p.Abs(dst), mode); err != nil {
				return c.fail("preserving permissions for %s: %s", program.QuoteName(dst), proc.Strerror(err))
			}
		}
	}
	return c.keep(dst, st, true) && ok
}

func (c *copier) copyContent(src, dst string, st vfs.Stat) bool {
	p := c.p
	in, err := p.Open(src, vfs.ReadOnly, 0)
	if err != nil {
		return c.fail("cannot open %s for reading: %s", program.QuoteName(src), proc.Strerror(err))
	}
	defer in.Close()
	mode := st.Mode & 0o777
	if c.dropMode {
		mode = 0o666
	}
	out, err := c.create(dst, mode)
	if err != nil {
		if errors.Is(err, vfs.EISDIR) && strings.HasSuffix(dst, "/") {
			err = vfs.ENOTDIR
		}
		return c.fail("cannot create regular file %s: %s", program.QuoteName(dst), proc.Strerror(err))
	}
	if !c.attributesOnly {
		if err := copyData(p, in, out); err != nil {
			var w *writeError
			if errors.As(err, &w) {
				c.p.Errorf("error writing %s: %s", program.QuoteName(dst), proc.Strerror(w.err))
			} else {
				c.p.Errorf("error reading %s: %s", program.QuoteName(src), proc.Strerror(err))
			}
			_ = out.Close()
			return false
		}
	}
	if err := out.Close(); err != nil {
		return c.fail("failed to close %s: %s", program.QuoteName(dst), proc.Strerror(err))
	}
	return c.keep(dst, st, true)
}

func (c *copier) create(dst string, mode uint32) (vfs.File, error) {
	flags := vfs.WriteOnly | vfs.Trunc
	if c.attributesOnly {
		flags = vfs.WriteOnly
	}
	out, err := c.p.Open(dst, flags, mode)
	if errors.Is(err, vfs.ENOENT) {
		if !strings.HasSuffix(dst, "/") {
			return c.p.Open(dst, vfs.WriteOnly|vfs.Create|vfs.Excl, mode)
		}
		return nil, vfs.ENOTDIR
	}
	if err != nil && c.force && !errors.Is(err, vfs.EISDIR) && !errors.Is(err, vfs.ENOTDIR) {
		if c.p.FS.Unlink(c.p.Abs(dst)) == nil {
			if c.verbose {
				fmt.Fprintf(c.p.Out, "removed %s\n", program.QuoteName(dst))
			}
			return c.p.Open(dst, vfs.WriteOnly|vfs.Create|vfs.Excl, mode)
		}
	}
	return out, err
}

// writeError tells a failed write from a failed read in copyData.
type writeError struct{ err error }

func (e *writeError) Error() string { return e.err.Error() }
func (e *writeError) Unwrap() error { return e.err }

func copyData(p *proc.Process, in io.Reader, out io.Writer) error {
	buf := make([]byte, 256<<10)
	for {
		n, err := in.Read(buf)
		p.Tick(1 + n>>10)
		if n > 0 {
			if _, werr := out.Write(buf[:n]); werr != nil {
				return &writeError{werr}
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// keep gives dst the attributes of the source that are to be preserved.
func (c *copier) keep(dst string, st vfs.Stat, follow bool) bool {
	p, ok := c.p, true
	path := p.Abs(dst)
	if c.keepOwner {
		// Like for an ordinary user a refused change of owner is no failure.
		if err := p.FS.Chown(path, int(st.UID), int(st.GID), follow); err != nil && !errors.Is(err, vfs.EPERM) {
			ok = c.fail("failed to preserve ownership for %s: %s", program.QuoteName(dst), proc.Strerror(err))
		}
	}
	if c.keepMode && follow {
		if err := p.FS.Chmod(path, st.Mode); err != nil {
			ok = c.fail("preserving permissions for %s: %s", program.QuoteName(dst), proc.Strerror(err))
		}
	}
	if c.keepTimes {
		if err := p.FS.Utimes(path, st.Mtime, follow); err != nil {
			ok = c.fail("preserving times for %s: %s", program.QuoteName(dst), proc.Strerror(err))
		}
	}
	return ok
}
