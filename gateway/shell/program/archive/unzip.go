package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/shell/text/archive"
	"github.com/pgbox/pgbox/gateway/shell/text/datetime"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// Exit statuses of unzip.
const (
	unzipWarning  = 1
	unzipError    = 2
	unzipNoZip    = 9
	unzipUsage    = 10
	unzipNotFound = 11
)

const unzipHelp = `UnZip 6.00 of 20 April 2009, by Debian. Original by Info-ZIP.

Usage: unzip [-Z] [-opts[modifiers]] file[.zip] [list] [-x xlist] [-d exdir]
  Default action is to extract files in list, except those in xlist, to exdir;
  file[.zip] may be a wildcard.  -Z => ZipInfo mode ("unzip -Z" for usage).

  -p  extract files to pipe, no messages     -l  list files (short format)
  -f  freshen existing files, create none    -t  test compressed archive data
  -u  update files, create if necessary      -z  display archive comment only
  -v  list verbosely/show version info
  -x  exclude files that follow (in xlist)   -d  extract files into exdir
modifiers:
  -n  never overwrite existing files         -q  quiet mode (-qq => quieter)
  -o  overwrite files WITHOUT prompting      -j  junk paths (do not make directories)
  -C  match filenames case-insensitively     -L  make names lowercase
`

type unzipRun struct {
	p                                                   *proc.Process
	loc                                                 *time.Location
	z                                                   *archive.Zip
	file, dir                                           string
	names, exclude                                      []string
	hit                                                 []bool
	hitX                                                []bool
	list, wide, pipe, console, test, comment, freshen   bool
	update, never, overwrite, junk, fold, lower, noTime bool
	quiet                                               int
	// zipinfo's format: "", "1", "2", "s", "m", "l", "v", "h", "t"
	info    string
	zipinfo bool
	none    bool // "[N]one" was the answer
	links   [][2]string
	later   []func()
	status  int
}

func unzipMain(_ context.Context, p *proc.Process) int {
	u := &unzipRun{p: p, loc: datetime.Zone(p.Getenv("TZ")), zipinfo: p.Name() == "zipinfo"}
	if done, status := u.options(p.Args[1:]); done {
		return status
	}
	return u.run()
}

func (u *unzipRun) usage(status int) (bool, int) {
	w := u.p.Out
	if status != 0 {
		w = u.p.Err
	}
	w.WriteString(unzipHelp)
	return true, status
}

func (u *unzipRun) options(args []string) (bool, int) {
	p := u.p
	excluding := false
	if len(args) == 0 {
		return u.usage(0)
	}
	for len(args) > 0 {
		a := args[0]
		args = args[1:]
		if len(a) < 2 || a[0] != '-' {
			switch {
			case u.file == "":
				u.file = a
			case excluding:
				u.exclude = append(u.exclude, a)
			default:
				u.names = append(u.names, a)
			}
			continue
		}
		for i := 1; i < len(a); i++ {
			c := a[i]
			if u.zipinfo && strings.IndexByte("12smlvhtTzMC", c) >= 0 {
				switch c {
				case '1', '2', 's', 'm', 'l', 'v', 'h', 't':
					u.info += string(c)
				case 'C':
					u.fold = true
				case 'z':
					u.comment = true
				}
				continue
			}
			switch c {
			case 'l':
				u.list = true
			case 'v':
				u.list, u.wide = true, true
			case 'p':
				u.pipe = true
			case 'c':
				u.console = true
			case 't':
				u.test = true
			case 'z':
				u.comment = true
			case 'f':
				u.freshen = true
			case 'u':
				u.update = true
			case 'n':
				u.never = true
			case 'o':
				u.overwrite = true
			case 'q':
				u.quiet++
			case 'j':
				u.junk = true
			case 'C':
				u.fold = true
			case 'L':
				u.lower = true
			case 'D':
				u.noTime = true
			case 'Z':
				u.zipinfo = true
			case 'h':
				return u.usage(0)
			case 'x':
				excluding = true
			case 'd', 'P', 'O', 'I':
				v := a[i+1:]
				if v == "" {
					if len(args) == 0 {
						p.Err.WriteString("error:  must specify directory to which to extract with -d option\n")
						return true, unzipUsage
					}
					v, args = args[0], args[1:]
				}
				if c == 'd' {
					u.dir = strings.TrimRight(v, "/")
					if u.dir == "" {
						u.dir = "/"
					}
				}
				i = len(a)
			case 'a', 'b', 'B', 'K', 'X', 'V', 'U', 'M', 'W', ':', '^', 'T', '/', 'F', 'S', 's':
				// Nothing of it makes a difference in the sandbox.
			default:
				return u.usage(unzipUsage)
			}
		}
	}
	if u.file == "" {
		if u.wide {
			p.Out.WriteString("UnZip 6.00 of 20 April 2009, by Debian. Original by Info-ZIP.\n")
			return true, 0
		}
		return u.usage(unzipUsage)
	}
	return false, 0
}

func (u *unzipRun) say(format string, args ...any) {
	if u.quiet == 0 && !u.pipe {
		fmt.Fprintf(u.p.Out, format, args...)
	}
}

// problem is a message that counts as an error.
func (u *unzipRun) problem(status int, format string, args ...any) {
	u.p.Out.Flush()
	fmt.Fprintf(u.p.Err, format, args...)
	u.status = max(u.status, status)
}

// open finds the archive: its name, or with .zip.
func (u *unzipRun) open() (f vfs.File, status int) {
	p := u.p
	prog := "unzip"
	errs := p.Err
	if u.zipinfo {
		prog, errs = "zipinfo", p.Out
	}
	var err error
	for _, suffix := range []string{"", ".zip", ".ZIP"} {
		if st, serr := p.Stat(u.file + suffix); serr != nil || st.IsDir() {
			continue
		}
		if f, err = p.Open(u.file+suffix, vfs.ReadOnly, 0); err == nil {
			if suffix != "" {
				u.file += suffix
			}
			break
		}
	}
	if f == nil {
		p.Out.Flush()
		fmt.Fprintf(errs, "%s:  cannot find or open %s, %[2]s.zip or %[2]s.ZIP.\n", prog, u.file)
		return nil, unzipNoZip
	}
	size := int64(0)
	st, err := f.Stat()
	if err == nil {
		size = st.Size
		u.z, err = archive.OpenZip(f, size)
	}
	if err != nil {
		if !u.zipinfo {
			u.say("Archive:  %s\n", u.file)
		}
		p.Out.Flush()
		fmt.Fprintf(p.Err, "  End-of-central-directory signature not found.  Either this file is not\n"+
			"  a zipfile, or it constitutes one disk of a multi-part archive.  In the\n"+
			"  latter case the central directory and zipfile comment will be found on\n"+
			"  the last disk(s) of this archive.\n"+
			"%s:  cannot find zipfile directory in one of %s or\n"+
			"%*s %[2]s.zip, and cannot find %[2]s.ZIP, period.\n", prog, u.file, len(prog)+2, "")
		_ = f.Close()
		return nil, unzipNoZip
	}
	return f, 0
}

func (u *unzipRun) run() int {
	f, status := u.open()
	if f == nil {
		return status
	}
	defer f.Close()
	held := 300 * len(u.z.Entries)
	u.p.Hold(held)
	defer u.p.Release(held)
	u.hit, u.hitX = make([]bool, len(u.names)), make([]bool, len(u.exclude))
	if n := u.z.Prefix; n > 0 {
		u.problem(unzipWarning,
			"warning [%s]:  %d extra bytes at beginning or within zipfile\n  (attempting to process anyway)\n", u.file, n)
	}
	if u.zipinfo {
		u.inform()
	} else {
		u.heading()
		switch {
		case u.comment:
			return 0
		case u.list:
			u.listing()
			return u.status
		case u.test:
			u.testing()
		default:
			u.extractAll()
		}
	}
	if u.zipinfo && len(u.names) > 0 || !u.zipinfo {
		for i, n := range u.names {
			if !u.hit[i] {
				u.problem(unzipNotFound, "caution: filename not matched:  %s\n", n)
			}
		}
		for i, n := range u.exclude {
			if !u.hitX[i] {
				u.p.Out.Flush()
				fmt.Fprintf(u.p.Err, "caution: excluded filename not matched:  %s\n", n)
			}
		}
	}
	return u.status
}

func (u *unzipRun) heading() {
	u.say("Archive:  %s\n", u.file)
	if c := u.z.Comment; c != "" && u.quiet == 0 && !u.pipe {
		u.p.Out.WriteString(strings.ReplaceAll(c, "\r\n", "\n") + "\n")
	}
}

func (u *unzipRun) wanted(e *archive.ZipEntry) bool {
	match := func(list []string, hit []bool) (any bool) {
		for i, pat := range list {
			name := e.Name
			if u.fold {
				pat, name = strings.ToLower(pat), strings.ToLower(name)
			}
			if pat == name || program.Fnmatch(u.p, pat, name, false) {
				hit[i], any = true, true
			}
		}
		return any
	}
	if len(u.names) > 0 && !match(u.names, u.hit) {
		return false
	}
	return !match(u.exclude, u.hitX)
}

func countFiles(n int) string {
	if n == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", n)
}

var zipDepth = [4]string{"N", "X", "F", "S"}

func (u *unzipRun) listing() {
	out := u.p.Out
	switch {
	case u.quiet > 1:
	case u.wide:
		out.WriteString(" Length   Method    Size  Cmpr    Date    Time   CRC-32   Name\n--------  ------  ------- ---- ---------- ----- --------  ----\n")
	default:
		out.WriteString("  Length      Date    Time    Name\n---------  ---------- -----   ----\n")
	}
	n, size, packed := 0, int64(0), int64(0)
	for _, e := range u.z.Entries {
		u.p.Tick(1)
		if !u.wanted(e) {
			continue
		}
		n++
		size += e.Size
		packed += e.Packed
		when := e.Time(u.loc).Format("2006-01-02 15:04")
		if u.wide {
			fmt.Fprintf(out, "%8d  %s%9d %3d%% %s %08x  %s\n", e.Size, zipMethod(e), e.Packed, zipPercent(e.Size, e.Packed),
				when, e.CRC, e.Name)
		} else {
			fmt.Fprintf(out, "%9d  %s   %s\n", e.Size, when, e.Name)
		}
	}
	switch {
	case u.quiet > 1:
	case u.wide:
		fmt.Fprintf(out,
			"--------          -------  ---                            -------\n%8d         %8d %3d%%                            %s\n", size, packed, zipPercent(size, packed), countFiles(n))
	default:
		fmt.Fprintf(out, "---------                     -------\n%9d                     %s\n", size, countFiles(n))
	}
	if n == 0 && len(u.names) > 0 {
		u.status = unzipNotFound
	}
}

func zipMethod(e *archive.ZipEntry) string {
	switch e.Method {
	case archive.Stored:
		return "Stored"
	case archive.Deflated:
		return "Defl:" + zipDepth[e.Flags>>1&3]
	}
	return fmt.Sprintf("Unk:%03d", e.Method)[:6]
}

// inform is zipinfo.
func (u *unzipRun) inform() {
	out := u.p.Out
	format := u.info
	long := !strings.ContainsAny(format, "12")
	header := long && len(u.names) == 0 || strings.Contains(format, "h")
	trailer := long && len(u.names) == 0 || strings.Contains(format, "t")
	if format == "h" || format == "t" {
		header, trailer = format == "h", format == "t"
	}
	if header {
		fmt.Fprintf(out, "Archive:  %s\n", u.file)
		if u.comment && u.z.Comment != "" {
			out.WriteString(u.z.Comment + "\n")
		}
		fmt.Fprintf(out, "Zip file size: %d bytes, number of entries: %d\n", u.z.Size, len(u.z.Entries))
	}
	n, size, packed := 0, int64(0), int64(0)
	for _, e := range u.z.Entries {
		u.p.Tick(1)
		if !u.wanted(e) {
			continue
		}
		n++
		size += e.Size
		packed += e.Packed
		switch {
		case format == "h" || format == "t":
		case !long:
			out.WriteString(e.Name + "\n")
		default:
			u.informEntry(e, format)
		}
	}
	if trailer {
		ratio := 0.0
		if size > 0 {
			ratio = 100 * float64(size-packed) / float64(size)
		}
		fmt.Fprintf(out, "%s, %d bytes uncompressed, %d bytes compressed:  %.1f%%\n", countFiles(n), size, packed, ratio)
	}
}

func (u *unzipRun) informEntry(e *archive.ZipEntry, format string) {
	kind := "-"
	switch e.Mode() >> 12 {
	case 4:
		kind = "d"
	case 10:
		kind = "l"
	case 1:
		kind = "p"
	}
	system := "fat"
	if e.Creator>>8 == 3 {
		system = "unx"
	}
	text, extra := "b", "-"
	if e.Internal&1 != 0 {
		text = "t"
	}
	switch {
	case e.Flags&8 != 0 && len(e.Extra) > 0:
		extra = "X"
	case e.Flags&8 != 0:
		extra = "l"
	case len(e.Extra) > 0:
		extra = "x"
	}
	if e.Flags&1 != 0 {
		text = strings.ToUpper(text)
	}
	method := "stor"
	if e.Method == archive.Deflated {
		method = "def" + zipDepth[e.Flags>>1&3]
	} else if e.Method != archive.Stored {
		method = fmt.Sprintf("u%03d", e.Method)
	}
	column := ""
	if strings.Contains(format, "l") {
		column = fmt.Sprintf(" %8d", e.Packed)
	} else if strings.Contains(format, "m") || strings.Contains(format, "t") {
		column = fmt.Sprintf(" %2d%%", zipPercent(e.Size, e.Packed))
	}
	fmt.Fprintf(u.p.Out, "%s%s  %d.%d %s %8d %s%s%s %s %s %s\n", kind, program.ModeString(e.Mode()&0o7777),
		e.Creator&0xff/10, e.Creator&0xff%10, system, e.Size, text, extra, column, method,
		e.Time(u.loc).Format("06-Jan-02 15:04"), e.Name)
}

// content reads an entry into w and says what is wrong with it.
func (u *unzipRun) content(e *archive.ZipEntry, w io.Writer) error {
	r, err := u.z.Open(e)
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = program.CopyTicking(u.p, w, r)
	return err
}

func (u *unzipRun) complain(e *archive.ZipEntry, err error) {
	switch {
	case errors.Is(err, archive.ErrMethod):
		u.problem(81, "   skipping: %-22s  unsupported compression method %d\n", e.Name, e.Method)
	case errors.Is(err, archive.ErrEncrypted):
		u.problem(82, "   skipping: %-22s  unable to get password\n", e.Name)
	case errors.Is(err, archive.ErrChecksum):
		u.problem(unzipError, " bad CRC %08x  (should be %08x)\n", 0, e.CRC)
	default:
		if no, ok := vfs.Of(err); ok {
			u.problem(50, "%s:  write error (%s).\n", e.Name, no.Error())
			return
		}
		u.problem(unzipError, "\n  error:  %v\n", errZipDamaged)
	}
}

func (u *unzipRun) testing() {
	n, bad := 0, false
	for _, e := range u.z.Entries {
		u.p.Tick(1)
		if !u.wanted(e) {
			continue
		}
		n++
		if u.quiet == 0 {
			fmt.Fprintf(u.p.Out, "    testing: %-22s   ", e.Name)
		}
		if err := u.content(e, io.Discard); err != nil {
			bad = true
			u.complain(e, err)
			continue
		}
		if u.quiet == 0 {
			u.p.Out.WriteString("OK\n")
		}
	}
	switch {
	case bad:
		fmt.Fprintf(u.p.Out, "At least one error was detected in %s.\n", u.file)
	case u.quiet > 1:
	case len(u.names) > 0 || len(u.exclude) > 0:
		s := "files"
		if n == 1 {
			s = "file"
		}
		fmt.Fprintf(u.p.Out, "No errors detected in %s for the %d %s tested.\n", u.file, n, s)
	default:
		fmt.Fprintf(u.p.Out, "No errors detected in compressed data of %s.\n", u.file)
	}
}

func (u *unzipRun) extractAll() {
	p := u.p
	if u.dir != "" && !u.pipe && !u.console {
		if err := p.FS.Mkdir(p.Abs(u.dir), 0o777&^p.Umask); err != nil && !errors.Is(err, vfs.EEXIST) {
			u.problem(unzipError, "checkdir:  cannot create extraction directory: %s\n           %s\n", u.dir,
				proc.Strerror(err))
			return
		}
	}
	for _, e := range u.z.Entries {
		p.Tick(1)
		if u.wanted(e) {
			u.extract(e)
		}
	}
	if len(u.links) > 0 {
		u.say("finishing deferred symbolic links:\n")
		for _, l := range u.links {
			u.say("  %-22s -> %s\n", l[0], l[1])
			if err := p.FS.Symlink(l[1], p.Abs(l[0])); err != nil {
				u.problem(unzipWarning, "symlink error: %s\n", proc.Strerror(err))
			}
		}
	}
	for i := len(u.later) - 1; i >= 0; i-- {
		u.later[i]()
	}
}

// safe takes out of a name what leads out of the directory.
func (u *unzipRun) safe(name string) string {
	name = strings.TrimLeft(name, "/")
	if u.junk {
		if strings.HasSuffix(name, "/") {
			return ""
		}
		name = path.Base(name)
	}
	if u.lower {
		name = strings.ToLower(name)
	}
	parts := strings.Split(name, "/")
	var kept []string
	skipped := false
	for i, c := range parts {
		switch {
		case c == "..":
			skipped = true
		case c == "." || c == "" && i < len(parts)-1:
		default:
			kept = append(kept, c)
		}
	}
	if skipped {
		fmt.Fprintf(u.p.Out, "warning:  skipped \"../\" path component(s) in %s\n", name)
		u.status = max(u.status, unzipWarning)
	}
	return strings.Join(kept, "/")
}

func (u *unzipRun) extract(e *archive.ZipEntry) {
	p := u.p
	verb := " extracting"
	if e.Method == archive.Deflated {
		verb = "  inflating"
	}
	if u.pipe || u.console {
		if u.console {
			u.say("%s: %-22s  \n", verb, e.Name)
		}
		if err := u.content(e, p.Out); err != nil {
			u.complain(e, err)
		}
		if u.console {
			u.say("\n")
		}
		return
	}
	name := u.safe(e.Name)
	if name == "" {
		return
	}
	if u.dir != "" {
		name = program.JoinPath(u.dir, name)
	}
	abs := p.Abs(name)
	mode := e.Mode() & 0o777
	if e.IsDir() {
		if mode == 0 {
			mode = 0o777 &^ p.Umask
		}
		abs = strings.TrimRight(abs, "/")
		if st, err := p.Stat(name); err == nil && st.IsDir() {
			return
		}
		u.parents(abs)
		if err := p.FS.Mkdir(abs, mode|0o700); err != nil {
			u.problem(unzipError,
				"checkdir error:  cannot create %s\n                 %s\n                 unable to process %s.\n",
				strings.TrimRight(name, "/"), proc.Strerror(err), e.Name)
			return
		}
		u.say("   creating: %s\n", name)
		u.later = append(u.later, func() {
			_ = p.FS.Chmod(abs, mode)
			if !u.noTime {
				_ = p.FS.Utimes(abs, e.Time(u.loc).UnixNano(), true)
			}
		})
		return
	}
	old, err := p.Lstat(name)
	switch {
	case err != nil && u.freshen:
		return
	case err == nil && !u.replace(e, name, old):
		return
	case err == nil:
		_ = p.FS.Unlink(abs)
	}
	u.parents(abs)
	if e.Mode()>>12 == 10 {
		var target strings.Builder
		if e.Size <= 4096 {
			err = u.content(e, &target)
		}
		if err != nil || target.Len() == 0 {
			u.complain(e, err)
			return
		}
		u.say("    linking: %-22s  -> %s \n", name, target.String())
		u.links = append(u.links, [2]string{name, target.String()})
		return
	}
	u.say("%s: %-22s  ", verb, name)
	f, err := p.Open(name, vfs.WriteOnly|vfs.Create|vfs.Trunc, 0o600)
	if err != nil {
		u.say("\n")
		u.problem(50, "error:  cannot create %s\n        %s\n", name, proc.Strerror(err))
		return
	}
	w := &checkedWriter{w: f}
	err = u.content(e, w)
	_ = f.Close()
	if w.err != nil {
		err = w.err
	}
	if err != nil {
		u.complain(e, err)
	} else {
		u.say("\n")
	}
	if mode == 0 && e.Mode() == 0 {
		mode = 0o666 &^ p.Umask
	}
	_ = p.FS.Chmod(abs, mode)
	_ = p.FS.Utimes(abs, e.Time(u.loc).UnixNano(), false)
}

// replace decides about a file that exists. There is nobody to ask, only standard input.
func (u *unzipRun) replace(e *archive.ZipEntry, name string, old vfs.Stat) bool {
	p := u.p
	if u.update || u.freshen {
		if e.Time(u.loc).Unix() <= old.Mtime/1e9 {
			return false
		}
	}
	switch {
	case u.none || u.never:
		return false
	case u.overwrite:
		return true
	}
	for {
		p.Out.Flush()
		fmt.Fprintf(p.Err, "replace %s? [y]es, [n]o, [A]ll, [N]one, [r]ename: ", name)
		answer, err := unzipAnswer(p)
		if err != nil && answer == "" {
			p.Err.WriteString(" NULL\n(EOF or read error, treating as \"[N]one\" ...)\n")
			u.none = true
			u.status = max(u.status, unzipWarning)
			return false
		}
		switch answer[:min(len(answer), 1)] {
		case "y", "Y":
			return true
		case "n":
			return false
		case "A":
			u.overwrite = true
			return true
		case "N":
			u.none = true
			return false
		}
		fmt.Fprintf(p.Err, "error:  invalid response [%s]\n", answer)
	}
}

// unzipAnswer reads one line of standard input.
func unzipAnswer(p *proc.Process) (string, error) {
	var line []byte
	var b [1]byte
	for {
		n, err := p.Stdin.Read(b[:])
		p.Tick(1)
		if n > 0 {
			if b[0] == '\n' {
				return string(line), nil
			}
			if len(line) < 4096 {
				line = append(line, b[0])
			}
		}
		if err != nil {
			return string(line), err
		}
	}
}

// parents makes the directories above a path.
func (u *unzipRun) parents(abs string) {
	dir := path.Dir(abs)
	if dir == "/" || dir == "." {
		return
	}
	if _, err := u.p.FS.Stat(dir); err == nil {
		return
	}
	u.parents(dir)
	_ = u.p.FS.Mkdir(dir, 0o777&^u.p.Umask)
}

// funzip writes the first entry of the archive that it reads.
func funzip(_ context.Context, p *proc.Process) int {
	name := "-"
	if len(p.Args) > 1 {
		name = p.Args[1]
	}
	in, err := p.OpenInput(name)
	if err != nil {
		p.Err.WriteString("funzip error: cannot open input file\n")
		return 3
	}
	defer in.Close()
	data, err := p.ReadAll(in)
	if err != nil {
		p.Err.WriteString("funzip error: cannot read input\n")
		return 3
	}
	z, err := archive.OpenZip(bytes.NewReader(data), int64(len(data)))
	if err != nil || len(z.Entries) == 0 {
		p.Err.WriteString("funzip error: input not a zip or gzip file\n")
		return 3
	}
	r, err := z.Open(z.Entries[0])
	if err == nil {
		_, err = program.CopyTicking(p, p.Out, r)
		_ = r.Close()
	}
	if err != nil {
		p.Err.WriteString("funzip error: invalid compressed data--crc error\n")
		return 4
	}
	if len(z.Entries) > 1 {
		p.Err.WriteString("funzip warning: zipfile has more than one entry--rest ignored\n")
	}
	return 0
}
