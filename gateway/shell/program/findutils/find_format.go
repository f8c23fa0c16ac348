package findutils

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/shell/text/datetime"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// list prints a line like ls -dils.
func (f *findRun) list(w io.Writer, e *findEntry) {
	st := e.stat()
	when := time.Unix(0, st.Mtime).In(f.now.Location())
	format := "%b %e %H:%M"
	if age := f.now.Sub(when); age > 182*24*time.Hour+12*time.Hour || age < -time.Hour {
		format = "%b %e  %Y"
	}
	size := strconv.FormatInt(st.Size, 10)
	if st.Kind == vfs.Char {
		size = fmt.Sprintf("%d, %3d", st.Rdev>>8, st.Rdev&0xff)
	}
	line := fmt.Sprintf("%9d %6d %c%s %3d %-8s %-8s %8s %s %s", st.Ino, (st.Blocks+1)/2, program.KindLetter(st.Kind),
		program.ModeString(st.Mode), st.Nlink,
		program.OrNumber(f.userName(st.UID), st.UID), program.OrNumber(f.groupName(st.GID), st.GID), size,
		datetime.Format(format, when), findEscape(e.path))
	if st.Kind == vfs.Symlink {
		if target, err := f.p.FS.Readlink(f.p.Abs(e.path)); err == nil {
			line += " -> " + findEscape(target)
		}
	}
	_, _ = io.WriteString(w, line+"\n")
}

// findEscape shows a name as -ls does.
func findEscape(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		switch {
		case c == ' ' || c == '\\' || c == '"':
			b.WriteByte('\\')
			b.WriteByte(c)
		case program.CEscape(c) != "":
			b.WriteString(program.CEscape(c))
		case c < ' ' || c == 127:
			fmt.Fprintf(&b, "\\%03o", c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// findPiece is a part of a -printf format.
type findPiece struct {
	text  string
	flags string // flags, width and precision of a directive
	verb  byte
	time  byte // the letter after %A, %C, %T
	stop  bool // \c
}

func (f *findRun) parseFormat(format string) []findPiece {
	var out []findPiece
	var text strings.Builder
	for i := 0; i < len(format); i++ {
		c := format[i]
		switch {
		case c == '\\' && i+1 < len(format):
			i++
			switch e := format[i]; {
			case e >= '0' && e <= '7':
				v := 0
				j := i
				for ; j < len(format) && j < i+3 && format[j] >= '0' && format[j] <= '7'; j++ {
					v = v*8 + int(format[j]-'0')
				}
				text.WriteByte(byte(v))
				i = j - 1
			case e == 'c':
				return append(out, findPiece{text: text.String(), stop: true})
			case strings.IndexByte(`abfnrtv\`, e) >= 0:
				text.WriteByte("\a\b\f\n\r\t\v\\"[strings.IndexByte(`abfnrtv\`, e)])
			default:
				f.p.Errorf("warning: unrecognized escape `\\%c'", e)
				text.WriteByte('\\')
				text.WriteByte(e)
			}
		case c == '%' && i+1 < len(format):
			i++
			start := i
			for i < len(format) && strings.IndexByte("-+ #0123456789.", format[i]) >= 0 {
				i++
			}
			if i >= len(format) {
				f.fatal("error: %% at end of format string")
			}
			flags, verb := format[start:i], format[i]
			switch {
			case verb == '%':
				text.WriteByte('%')
				continue
			case strings.IndexByte("ABCT", verb) >= 0:
				if i+1 >= len(format) {
					f.p.Errorf("warning: format directive `%%%c' should be followed by another character", verb)
					text.WriteString(format[start-1:])
					continue
				}
				i++
				out = append(out, findPiece{text: text.String(), flags: flags, verb: verb, time: format[i]})
			case strings.IndexByte("abcdDfFgGhHiklmMnpPsStuUyYZ", verb) >= 0:
				out = append(out, findPiece{text: text.String(), flags: flags, verb: verb})
			case strings.IndexByte("{[(", verb) >= 0:
				f.fatal("error: the format directive `%%%c' is reserved for future use", verb)
			default:
				f.p.Errorf("warning: unrecognized format directive `%%%c'", verb)
				text.WriteString(format[start-1 : i+1])
				continue
			}
			text.Reset()
		case c == '%':
			f.fatal("error: %% at end of format string")
		default:
			text.WriteByte(c)
		}
	}
	return append(out, findPiece{text: text.String()})
}

func (f *findRun) formatter(format string, w io.Writer) findTest {
	pieces := f.parseFormat(format)
	return func(e *findEntry) bool {
		for i := range pieces {
			pc := &pieces[i]
			_, _ = io.WriteString(w, pc.text)
			if pc.stop {
				if w == io.Writer(f.p.Out) {
					f.p.Out.Flush()
				}
				break
			}
			if pc.verb != 0 {
				_, _ = io.WriteString(w, f.directive(pc, e))
			}
		}
		return true
	}
}

func (f *findRun) directive(pc *findPiece, e *findEntry) string {
	str := func(s string) string { return fmt.Sprintf("%"+strings.TrimLeft(pc.flags, "0#")+"s", s) }
	num := func(n int64) string {
		if pc.flags == "" {
			return strconv.FormatInt(n, 10)
		}
		return fmt.Sprintf("%"+pc.flags+"d", n)
	}
	stamp := func(ns int64) time.Time { return time.Unix(0, ns).In(f.now.Location()) }
	st := e.stat()
	switch pc.verb {
	case 'p':
		return str(e.path)
	case 'f':
		switch {
		case strings.Trim(e.path, "/") == "":
			return str("/")
		case strings.HasSuffix(e.path, "/"):
			return str(e.base() + "/")
		}
		return str(e.base())
	case 'h':
		name := strings.TrimRight(e.path, "/")
		i := strings.LastIndexByte(name, '/')
		switch {
		case (name == "." || name == "") && len(e.path) > len(name)+1: // the last slash is the one before nothing
			return str(e.path[:len(e.path)-1])
		case i == 0 || strings.Trim(e.path, "/") == "":
			return str("")
		case i < 0:
			return str(".")
		}
		return str(e.path[:i])
	case 'P':
		rest := strings.TrimPrefix(e.path, e.start)
		if e.depth > 0 && !strings.HasSuffix(e.start, "/") {
			rest = strings.TrimPrefix(rest, "/")
		}
		return str(rest)
	case 'H':
		return str(e.start)
	case 'd':
		return num(int64(e.depth))
	case 's':
		return str(strconv.FormatInt(st.Size, 10))
	case 'b':
		return str(strconv.FormatInt(st.Blocks, 10))
	case 'k':
		return str(strconv.FormatInt((st.Blocks+1)/2, 10))
	case 'S':
		if st.Size == 0 {
			return str("1")
		}
		return str(strconv.FormatFloat(float64(st.Blocks*512)/float64(st.Size), 'g', 6, 64))
	case 'm':
		if strings.Contains(pc.flags, "#") || pc.flags != "" {
			return fmt.Sprintf("%"+pc.flags+"o", st.Mode)
		}
		return strconv.FormatUint(uint64(st.Mode), 8)
	case 'M':
		return str(string(program.KindLetter(st.Kind)) + program.ModeString(st.Mode))
	case 'n':
		return str(strconv.FormatUint(uint64(st.Nlink), 10))
	case 'i':
		return str(strconv.FormatUint(st.Ino, 10))
	case 'u':
		return str(program.OrNumber(f.userName(st.UID), st.UID))
	case 'U':
		return str(strconv.FormatUint(uint64(st.UID), 10))
	case 'g':
		return str(program.OrNumber(f.groupName(st.GID), st.GID))
	case 'G':
		return str(strconv.FormatUint(uint64(st.GID), 10))
	case 'l':
		if st.Kind != vfs.Symlink {
			return str("")
		}
		target, _ := f.p.FS.Readlink(f.p.Abs(e.path))
		return str(target)
	case 'y':
		return str(findKind(st.Kind))
	case 'Y':
		lst, lerr := f.p.Lstat(e.path)
		if lerr != nil || lst.Kind != vfs.Symlink {
			return str(findKind(st.Kind))
		}
		t, err := f.p.Stat(e.path)
		switch {
		case errors.Is(err, vfs.ELOOP):
			return str("L")
		case err != nil:
			return str("N")
		}
		return str(findKind(t.Kind))
	case 'F':
		return str(findFileSystem)
	case 'D':
		return num(1)
	case 'a', 't':
		return str(findCtime(stamp(st.Mtime)))
	case 'c':
		return str(findCtime(stamp(st.Ctime)))
	case 'A', 'T', 'B':
		return str(findTime(pc.time, stamp(st.Mtime)))
	case 'C':
		return str(findTime(pc.time, stamp(st.Ctime)))
	}
	return ""
}

func findKind(k vfs.Kind) string {
	if k == vfs.Regular {
		return "f"
	}
	return string(program.KindLetter(k))
}

// findFraction is the fraction of a second as find prints it: ten digits.
func findFraction(t time.Time) string { return fmt.Sprintf(".%09d0", t.Nanosecond()) }

func findCtime(t time.Time) string {
	return datetime.Format("%a %b %e %H:%M:%S", t) + findFraction(t) + datetime.Format(" %Y", t)
}

func findTime(verb byte, t time.Time) string {
	switch verb {
	case '@':
		return strconv.FormatInt(t.Unix(), 10) + findFraction(t)
	case '+':
		return datetime.Format("%Y-%m-%d+%H:%M:%S", t) + findFraction(t)
	case 'S':
		return datetime.Format("%S", t) + findFraction(t)
	case 'T', 'X':
		return datetime.Format("%H:%M:%S", t) + findFraction(t)
	case 'c':
		return datetime.Format("%c", t)
	}
	return datetime.Format("%"+string(verb), t)
}
