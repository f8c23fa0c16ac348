package archive

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/shell/text/datetime"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var cpioSpec = getopt.New("ioptBcC:D:H:R:vVW:F:M:bfI:nrsSE:AO:l0aLdmuk?",
	"extract=i create=o pass-through=p list=t block-size: io-size:=C directory:=D force-local format:=H quiet owner:=R verbose=v dot=V warning:=W "+
		"file:=F message:=M rsh-command: swap=b nonmatching=f numeric-uid-gid=n rename=r swap-bytes=s swap-halfwords=S to-stdout "+
		"pattern-file:=E only-verify-crc append=A device-independent=reproducible reproducible ignore-devno renumber-inodes link=l "+
		"absolute-filenames no-absolute-filenames null=0 reset-access-time=a dereference=L make-directories=d preserve-modification-time=m "+
		"no-preserve-owner sparse unconditional=u usage=help").
	WithStatus(2).WithHint("Try '%[1]s --help' or '%[1]s --usage' for more information.").WithVersion("(GNU cpio) 2.13").
	WithUsage("[OPTION...] [destination-directory]",
		"GNU 'cpio' copies files to and from archives: -o writes those named on standard input, -i extracts, -p copies to a directory.")

const cpioBlock = 512

// cpioLink is where a file with several names was put, or which names wait for its content.
type cpioLink struct {
	name    string
	waiting []cpioHeader
}

type cpioRun struct {
	p    *proc.Process
	mode string // i, o or p
	list bool

	format, file, dest                             string
	verbose, dot, quiet, numeric, nonmatching      bool
	toStdout, verify, add, ignoreDev, renumber     bool
	link, relative, null, follow, makeDirs, mtimes bool
	unconditional, swapBytes, swapHalves, noOwner  bool
	uid, gid                                       int
	patterns                                       []string
	block                                          int64

	bytes   int64 // of the archive, or copied by -p
	in      *bufio.Reader
	out     io.Writer
	links   map[cpioKey]*cpioLink
	numbers map[cpioKey]uint32 // with --renumber-inodes
	removed bool               // the message about leading slashes was printed
	later   []func()           // times of directories
	status  int
}

type cpioKey struct {
	major, minor uint32
	ino          uint64
}

func cpio(_ context.Context, p *proc.Process) int {
	if _, _, err := cpioSpec.Scan(p.Args[1:]); err != nil {
		p.Errorf("%v", err)
		fmt.Fprintf(p.Err, "Try '%[1]s --help' or '%[1]s --usage' for more information.\n", p.Name())
		return 64
	}
	opts, args := cpioSpec.Parse(p)
	c := &cpioRun{p: p, uid: -1, gid: -1, block: cpioBlock, links: map[cpioKey]*cpioLink{}, numbers: map[cpioKey]uint32{}}
	var patternFiles []string
	rename := false
	for _, o := range opts {
		switch o.Key {
		case "i", "o", "p":
			c.setMode(o.Key)
		case "t":
			c.list = true
		case "B":
			c.block = 10 * cpioBlock
		case "C", "block-size":
			n, problem := program.ParseCount(o.Value, "")
			if problem != program.NumberOK || n < 1 || n > 1<<30 {
				p.Errorf("invalid block size")
				return 2
			}
			c.block = n
			if o.Key != "C" {
				c.block *= cpioBlock
			}
		case "D":
			st, err := p.Stat(o.Value)
			if err == nil && !st.IsDir() {
				err = vfs.ENOTDIR
			}
			if err != nil {
				p.Errorf("cannot change to directory `%s': %s", o.Value, proc.Strerror(err))
				return 2
			}
			p.Dir = p.Abs(o.Value)
		case "c":
			c.format = "odc"
		case "H":
			c.format = strings.ToLower(o.Value)
			if !strings.Contains(" crc newc odc bin ustar tar hpodc hpbin ", " "+c.format+" ") {
				cpioSpec.Fail(p,
					"invalid archive format `%s'; valid formats are:\ncrc newc odc bin ustar tar (all-caps also recognized)", o.Value)
			}
		case "quiet":
			c.quiet = true
		case "R":
			c.setOwner(o.Value)
		case "v":
			c.verbose = true
		case "V":
			c.dot = true
		case "F", "I", "O":
			c.file = o.Value
		case "b":
			c.swapBytes, c.swapHalves = true, true
		case "s":
			c.swapBytes = true
		case "S":
			c.swapHalves = true
		case "f":
			c.nonmatching = true
		case "n":
			c.numeric = true
		case "r":
			rename = true
		case "to-stdout":
			c.toStdout = true
		case "E":
			patternFiles = append(patternFiles, o.Value)
		case "only-verify-crc":
			c.verify = true
		case "A":
			c.add = true
		case "reproducible":
			c.ignoreDev, c.renumber = true, true
		case "ignore-devno":
			c.ignoreDev = true
		case "renumber-inodes":
			c.renumber = true
		case "l":
			c.link = true
		case "no-absolute-filenames":
			c.relative = true
		case "0":
			c.null = true
		case "L":
			c.follow = true
		case "d":
			c.makeDirs = true
		case "m":
			c.mtimes = true
		case "no-preserve-owner":
			c.noOwner = true
		case "u":
			c.unconditional = true
		case "?":
			p.Args = []string{p.Args[0], "--help"}
			cpioSpec.Parse(p)
		}
	}
	if c.list {
		if c.mode == "" {
			c.mode = "i"
		}
	}
	c.checkOptions(args)
	if rename {
		p.Errorf("/dev/tty: Cannot open: %s", vfs.ENXIO)
		return 2
	}
	var err error
	switch c.mode {
	case "i":
		c.patterns = args
		for _, f := range patternFiles {
			data, rerr := p.ReadFile(f)
			if rerr != nil {
				p.Errorf("%s: Cannot open: %s", f, proc.Strerror(rerr))
				return 2
			}
			for line := range strings.Lines(string(data)) {
				c.patterns = append(c.patterns, strings.TrimSuffix(line, "\n"))
			}
		}
		err = c.copyIn()
	case "o":
		err = c.copyOut()
	case "p":
		c.dest = args[0]
		err = c.copyPass()
	}
	if err != nil {
		p.Errorf("%v", err)
		return 2
	}
	p.Out.Flush()
	if c.dot {
		p.Err.WriteString("\n")
	}
	if !c.quiet {
		n := (c.bytes + c.block - 1) / c.block
		unit := "blocks"
		if n == 1 {
			unit = "block"
		}
		fmt.Fprintf(p.Err, "%d %s\n", n, unit)
	}
	return c.status
}

func (c *cpioRun) setMode(mode string) {
	if c.mode != "" && c.mode != mode {
		cpioSpec.Fail(c.p, "Mode already defined")
	}
	c.mode = mode
}

func (c *cpioRun) setOwner(s string) {
	user, group, has := strings.Cut(s, ":")
	if !has {
		user, group, has = strings.Cut(s, ".")
	}
	if user != "" {
		u, ok := program.UserByName(c.p, user)
		if !ok {
			u.UID, ok = program.AccountNumber(user)
		}
		if !ok {
			cpioSpec.Fail(c.p, "%s: invalid user", s)
		}
		c.uid = int(u.UID)
		if has && group == "" {
			c.gid = int(u.GID)
		}
	}
	if group != "" {
		g, ok := program.GroupByName(c.p, group)
		if !ok {
			g, ok = program.AccountNumber(group)
		}
		if !ok {
			cpioSpec.Fail(c.p, "%s: invalid group", s)
		}
		c.gid = int(g)
	}
}

func (c *cpioRun) checkOptions(args []string) {
	for _, x := range []struct {
		given         bool
		option, modes string
	}{
		{c.list, "--list", "i"}, {c.makeDirs, "--make-directories", "ip"}, {c.unconditional, "--unconditional", "ip"},
		{c.mtimes, "--preserve-modification-time", "ip"},
		{c.add, "--append", "o"}, {c.link, "--link", "p"}, {c.null, "--null", "op"}, {c.follow, "--dereference", "op"},
		{c.nonmatching, "--nonmatching", "i"}, {c.numeric, "--numeric-uid-gid", "i"}, {c.toStdout, "--to-stdout", "i"},
	} {
		if x.given && c.mode != "" && !strings.Contains(x.modes, c.mode) {
			cpioSpec.Fail(c.p, "%s is meaningless with %s", x.option,
				map[string]string{"i": "--extract", "o": "--create", "p": "--pass-through"}[c.mode])
		}
	}
	switch {
	case c.mode == "":
		cpioSpec.Fail(c.p, "You must specify one of -oipt options.")
	case c.toStdout && c.makeDirs:
		cpioSpec.Fail(c.p, "--make-directories is meaningless with --to-stdout")
	case c.mode == "o" && len(args) > 0 || c.mode == "p" && len(args) > 1:
		cpioSpec.Fail(c.p, "Too many arguments")
	case c.mode == "p" && len(args) == 0:
		cpioSpec.Fail(c.p, "Not enough arguments")
	case c.add && c.file == "":
		cpioSpec.Fail(c.p, "--append is used but no archive file name is given (use -F or -O options)")
	}
}

// fail is an error after which the run goes on.
func (c *cpioRun) fail(format string, args ...any) {
	c.p.Errorf(format, args...)
	c.status = 2
}

// done shows that a file was processed.
func (c *cpioRun) done(name string) {
	switch {
	case c.dot:
		c.p.Out.Flush()
		c.p.Err.WriteString(".")
	case c.verbose:
		c.p.Out.Flush()
		c.p.Err.WriteString(name + "\n")
	}
}

// eachName calls f with the names on standard input.
func (c *cpioRun) eachName(f func(name string) error) error {
	delim := byte('\n')
	if c.null {
		delim = 0
	}
	l := program.NewLineReader(c.p, c.p.Stdin, delim)
	defer l.Close()
	for line, ok := l.Next(); ok; line, ok = l.Next() {
		name := string(program.Chomp(line, delim))
		if name == "" {
			c.p.Errorf("blank line ignored")
			continue
		}
		if err := f(name); err != nil {
			return err
		}
	}
	return l.Err
}

func (c *cpioRun) stat(name string) (vfs.Stat, error) {
	if c.follow {
		return c.p.Stat(name)
	}
	return c.p.Lstat(name)
}

// safeName is a name as it goes into an archive or below a directory: without "./" in front and, where asked for,
// without a slash.
func (c *cpioRun) safeName(name string, relative bool) string {
	if relative && strings.HasPrefix(name, "/") {
		if !c.removed {
			c.removed = true
			c.p.Errorf("Removing leading `/' from member names")
		}
		name = strings.TrimLeft(name, "/")
	}
	for strings.HasPrefix(name, "./") && strings.TrimLeft(name[2:], "/") != "" {
		name = strings.TrimLeft(name[2:], "/")
	}
	if name == "" {
		return "."
	}
	return name
}

// copyPass is -p.
func (c *cpioRun) copyPass() error {
	return c.eachName(func(name string) error {
		st, err := c.stat(name)
		if err != nil {
			c.fail("%s: Cannot stat: %s", name, proc.Strerror(err))
			return nil
		}
		to := program.JoinPath(c.dest, c.passName(name))
		h := cpioHeader{name: to, stat: st, mtime: st.Mtime}
		if c.link && st.Kind == vfs.Regular && c.p.FS.Link(c.p.Abs(name), c.p.Abs(to)) == nil {
			c.done(to)
			return nil
		}
		if st.Kind == vfs.Symlink {
			if h.target, err = c.p.FS.Readlink(c.p.Abs(name)); err != nil {
				c.fail("%s: Cannot readlink: %s", name, proc.Strerror(err))
				return nil
			}
		}
		h.key = cpioKey{ino: st.Ino}
		var content io.Reader
		if st.Kind == vfs.Regular {
			f, err := c.p.Open(name, vfs.ReadOnly, 0)
			if err != nil {
				c.fail("%s: Cannot open: %s", name, proc.Strerror(err))
				return nil
			}
			defer f.Close()
			content = f
		}
		made, err := c.place(&h, content, true)
		if made {
			c.done(to)
		}
		return err
	})
}

func (c *cpioRun) passName(name string) string {
	for strings.HasPrefix(name, "/") {
		name = name[1:]
	}
	for strings.HasPrefix(name, "./") {
		name = strings.TrimLeft(name[2:], "/")
	}
	for strings.HasPrefix(name, "../") {
		name = strings.TrimLeft(name[3:], "/")
	}
	return name
}

// wanted reports whether the patterns select a member.
func (c *cpioRun) wanted(name string) bool {
	if len(c.patterns) == 0 {
		return true
	}
	for _, pattern := range c.patterns {
		if program.Fnmatch(c.p, pattern, name, false) {
			return !c.nonmatching
		}
	}
	return c.nonmatching
}

// place makes a file of a member or of the source of -p. It reports whether the file is there now as it should be; an
// error ends the run.
func (c *cpioRun) place(h *cpioHeader, content io.Reader, pass bool) (bool, error) {
	p := c.p
	abs := p.Abs(h.name)
	if old, err := p.Lstat(h.name); err == nil {
		if h.stat.IsDir() && old.IsDir() {
			c.finish(h, abs)
			return true, nil
		}
		if !c.unconditional && h.mtime/1e9 <= old.Mtime/1e9 {
			p.Errorf("%s not created: newer or same age version exists", h.name)
			return false, c.drop(content)
		}
		if old.IsDir() {
			err = p.FS.Rmdir(abs)
		} else {
			err = p.FS.Unlink(abs)
		}
		if err != nil {
			c.fail("cannot remove current %s: %s", h.name, proc.Strerror(err))
			return false, c.drop(content)
		}
	}
	switch h.stat.Kind {
	case vfs.Regular:
		return c.placeFile(h, abs, content, pass)
	case vfs.Dir:
		if err := c.withParents(h.name, func() error { return p.FS.Mkdir(abs, h.stat.Mode&0o7777|0o700) }); err != nil {
			c.fail("%s: Cannot mkdir: %s", h.name, proc.Strerror(err))
			return false, nil
		}
	case vfs.Symlink:
		if err := c.withParents(h.name, func() error { return p.FS.Symlink(h.target, abs) }); err != nil {
			c.fail("%s: Cannot symlink to %s: %s", h.target, program.Quote(h.name), proc.Strerror(err))
			return false, nil
		}
		return true, nil
	default:
		if err := c.withParents(h.name, func() error {
			return p.FS.Mknod(abs, h.stat.Kind, h.stat.Mode&0o7777, h.stat.Rdev)
		}); err != nil {
			c.fail("%s: Cannot mknod: %s", h.name, proc.Strerror(err))
			return false, nil
		}
	}
	c.finish(h, abs)
	return true, nil
}

// withParents runs f, and with -d again when directories were missing.
func (c *cpioRun) withParents(name string, f func() error) error {
	err := f()
	if !c.makeDirs || !errors.Is(err, vfs.ENOENT) && !errors.Is(err, vfs.ENOTDIR) {
		return err
	}
	for i := range len(name) {
		if name[i] != '/' || i == 0 {
			continue
		}
		if merr := c.p.FS.Mkdir(c.p.Abs(name[:i]), 0o777&^c.p.Umask); errors.Is(merr, vfs.EEXIST) &&
			!program.IsDir(c.p, name[:i]) {
			c.p.Errorf("`%s' exists but is not a directory", name[:i])
			return err
		}
	}
	return f()
}

// drop reads over the content of a member.
func (c *cpioRun) drop(content io.Reader) error {
	if content == nil {
		return nil
	}
	return c.copy(io.Discard, content)
}

func (c *cpioRun) placeFile(h *cpioHeader, abs string, content io.Reader, pass bool) (bool, error) {
	p := c.p
	several := h.stat.Nlink > 1
	once := h.once && !pass // the content comes with the last name only
	var l *cpioLink
	if several {
		l = c.links[h.key]
		switch {
		case l == nil:
			p.Hold(128 + len(h.name))
			l = &cpioLink{}
			c.links[h.key] = l
		case l.name != "":
			if err := c.linkTo(l.name, h.name); err == nil {
				if once && h.stat.Size > 0 {
					break // it has the content at last
				}
				return true, c.drop(content)
			}
		}
		if once && h.stat.Size == 0 {
			l.waiting = append(l.waiting, *h)
			return true, nil
		}
	}
	var f vfs.File
	err := c.withParents(h.name, func() (err error) {
		f, err = p.FS.Open(abs, vfs.WriteOnly|vfs.Create|vfs.Trunc, 0o600)
		return err
	})
	if err != nil {
		c.fail("%s: Cannot open: %s", h.name, proc.Strerror(err))
		return false, c.drop(content)
	}
	w := &checkedWriter{w: c.swapped(f, h)}
	err = c.copy(w, content)
	_ = f.Close()
	if w.err != nil {
		return false, fmt.Errorf("write error: %s", proc.Strerror(w.err))
	}
	if err != nil {
		return false, err
	}
	if pass {
		c.bytes += h.stat.Size
	}
	c.finish(h, abs)
	if l != nil {
		l.name = h.name
		for _, other := range l.waiting {
			if err := c.linkTo(h.name, other.name); err != nil {
				c.fail("cannot link %s to %s: %s", h.name, other.name, proc.Strerror(err))
			}
		}
		l.waiting = nil
	}
	return true, nil
}

// linkTo makes name another name of a file that was extracted before.
func (c *cpioRun) linkTo(target, name string) error {
	err := c.withParents(name, func() error { return c.p.FS.Link(c.p.Abs(target), c.p.Abs(name)) })
	if err == nil && c.verbose {
		c.p.Errorf("%s linked to %s", target, name)
	}
	return err
}

// finish sets owner, mode and times.
func (c *cpioRun) finish(h *cpioHeader, abs string) {
	p := c.p
	uid, gid := int(h.stat.UID), int(h.stat.GID)
	if c.uid >= 0 {
		uid = c.uid
	}
	if c.gid >= 0 {
		gid = c.gid
	}
	if p.User.UID == 0 && !c.noOwner {
		_ = p.FS.Chown(abs, uid, gid, false)
	}
	_ = p.FS.Chmod(abs, h.stat.Mode&0o7777)
	if !c.mtimes {
		return
	}
	set := func() { _ = p.FS.Utimes(abs, h.mtime, false) }
	if h.stat.IsDir() && c.mode == "i" {
		c.later = append(c.later, set)
		return
	}
	set()
}

func (c *cpioRun) copy(dst io.Writer, src io.Reader) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := src.Read(buf)
		c.p.Tick(1 + n>>10)
		if n > 0 {
			if _, werr := dst.Write(buf[:n]); werr != nil {
				return werr
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

// swapped applies -s, -S and -b.
func (c *cpioRun) swapped(w io.Writer, h *cpioHeader) io.Writer {
	s := &cpioSwap{w: w, bytes: c.swapBytes && c.mode == "i", halves: c.swapHalves && c.mode == "i"}
	if s.halves && h.stat.Size%4 != 0 {
		c.p.Errorf("cannot swap halfwords of %s: odd number of halfwords", h.name)
		s.halves = false
	}
	if s.bytes && h.stat.Size%2 != 0 {
		c.p.Errorf("cannot swap bytes of %s: odd number of bytes", h.name)
		s.bytes = false
	}
	return s
}

// cpioSwap exchanges the bytes of halfwords and the halfwords of words; the copy's buffer is a multiple of both.
type cpioSwap struct {
	w             io.Writer
	bytes, halves bool
	buf           []byte
}

func (s *cpioSwap) Write(from []byte) (int, error) {
	if !s.bytes && !s.halves {
		return s.w.Write(from)
	}
	s.buf = append(s.buf[:0], from...)
	b := s.buf
	for i := 0; s.bytes && i+1 < len(b); i += 2 {
		b[i], b[i+1] = b[i+1], b[i]
	}
	for i := 0; s.halves && i+3 < len(b); i += 4 {
		b[i], b[i+1], b[i+2], b[i+3] = b[i+2], b[i+3], b[i], b[i+1]
	}
	return s.w.Write(b)
}

// listing is a line of -tv.
func (c *cpioRun) listing(h *cpioHeader, n *program.Names) {
	p := c.p
	user, group := strconv.FormatUint(uint64(h.stat.UID), 10), strconv.FormatUint(uint64(h.stat.GID), 10)
	if !c.numeric {
		if s := n.User(h.stat.UID); s != "" {
			user = s
		}
		if s := n.Group(h.stat.GID); s != "" {
			group = s
		}
	}
	fmt.Fprintf(p.Out, "%s %3d %-8.8s %-8.8s ", string(program.KindLetter(h.stat.Kind))+program.ModeString(h.stat.Mode),
		h.stat.Nlink, user, group)
	if h.stat.Kind == vfs.Char {
		fmt.Fprintf(p.Out, "%3d, %3d ", h.stat.Rdev>>8, h.stat.Rdev&0xff)
	} else {
		fmt.Fprintf(p.Out, "%8d ", h.stat.Size)
	}
	when, now := h.mtime/1e9, p.Now().Unix()
	layout := "%b %e %H:%M"
	if now-when > 6*30*24*60*60 || now < when {
		layout = "%b %e  %Y"
	}
	fmt.Fprintf(p.Out, "%s %s", datetime.Format(layout, time.Unix(when, 0).In(datetime.Zone(p.Getenv("TZ")))), h.name)
	if h.stat.Kind == vfs.Symlink {
		p.Out.WriteString(" -> " + h.target)
	}
	p.Out.WriteByte('\n')
}
