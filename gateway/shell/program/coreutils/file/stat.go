package file

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/shell/text/datetime"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var statSpec = getopt.New("c:fLt", "dereference=L file-system=f format:=c printf: terse=t cached:").
	WithUsage("[OPTION]... FILE...", "Display file or file system status.")

const (
	statDefault = "  File: %-N\n  Size: %-10s\tBlocks: %-10b IO Block: %-6o %F\nDevice: %Hd,%Ld\tInode: %-10i  Links: %h\n" +
		"Access: (%04a/%10.10A)  Uid: (%5u/%8U)   Gid: (%5g/%8G)\nAccess: %x\nModify: %y\nChange: %z\n Birth: %w\n"
	statDevice = "  File: %-N\n  Size: %-10s\tBlocks: %-10b IO Block: %-6o %F\nDevice: %Hd,%Ld\tInode: %-10i  Links: %-5h Device type: %Hr,%Lr\n" +
		"Access: (%04a/%10.10A)  Uid: (%5u/%8U)   Gid: (%5g/%8G)\nAccess: %x\nModify: %y\nChange: %z\n Birth: %w\n"
	statTerse     = "%n %s %b %f %u %g %D %i %h %t %T %X %Y %Z %W %o\n"
	statFS        = "  File: \"%n\"\n    ID: %-8i Namelen: %-7l Type: %T\nBlock size: %-10s Fundamental block size: %S\nBlocks: Total: %-10b Free: %-10f Available: %a\nInodes: Total: %-10c Free: %d\n"
	statFSTerse   = "%n %i %l %t %s %S %b %f %a %c %d\n"
	statBlockSize = 4096
	// statDeviceNumber is the device every file of the sandbox is on.
	statDeviceNumber = 0x2a
)

type statRun struct {
	p      *proc.Process
	names  program.Names
	escape bool
}

func statMain(_ context.Context, p *proc.Process) int {
	opts, args := statSpec.Parse(p)
	s := &statRun{p: p, names: program.Names{P: p}}
	var format string
	var has, fs, follow, terse bool
	for _, o := range opts {
		switch o.Key {
		case "c":
			format, has, s.escape = o.Value+"\n", true, false
		case "printf":
			format, has, s.escape = o.Value, true, true
		case "cached":
			program.Choose(p, statSpec, "cached", o.Value, "default", "never", "always")
		case "f":
			fs = true
		case "L":
			follow = true
		case "t":
			terse = true
		}
	}
	if len(args) == 0 {
		statSpec.Fail(p, "missing operand")
	}
	status := 0
	for _, name := range args {
		if fs {
			if _, err := p.Stat(name); err != nil {
				p.Errorf("cannot read file system information for %s: %s", program.QuoteName(name), proc.Strerror(err))
				status = 1
				continue
			}
			f := format
			switch {
			case has:
			case terse:
				f = statFSTerse
			default:
				f = statFS
			}
			s.print(f, name, func(_, verb byte) (string, byte, bool) { return s.fsField(name, verb) })
			continue
		}
		var st vfs.Stat
		var err error
		if name == "-" {
			st = vfs.Stat{Kind: vfs.FIFO, Mode: 0o600, Nlink: 1}
			if f, ok := p.Stdin.(interface{ Stat() (vfs.Stat, error) }); ok {
				st, err = f.Stat()
			}
		} else if follow {
			st, err = p.Stat(name)
		} else {
			st, err = p.Lstat(name)
		}
		if err != nil {
			if name == "-" {
				p.Errorf("cannot stat standard input: %s", proc.Strerror(err))
			} else {
				p.Errorf("cannot statx %s: %s", program.QuoteName(name), proc.Strerror(err))
			}
			status = 1
			continue
		}
		f := format
		switch {
		case has:
		case terse:
			f = statTerse
		case st.Kind == vfs.Char:
			f = statDevice
		default:
			f = statDefault
		}
		s.print(f, name, func(mod, verb byte) (string, byte, bool) { return s.field(name, st, mod, verb, has) })
	}
	return status
}

// print expands a format. field returns the text of a directive and what kind it is: 's' text, 'd', 'o' or 'x' a
// number, 't' a time.
func (s *statRun) print(format, name string, field func(mod, verb byte) (string, byte, bool)) {
	out := s.p.Out
	for i := 0; i < len(format); i++ {
		c := format[i]
		if c == '\\' && s.escape {
			i = s.escapeAt(format, i)
			continue
		}
		if c != '%' {
			out.WriteByte(c)
			continue
		}
		start := i
		i++
		flags := i
		for i < len(format) && strings.IndexByte("#-+.I 0", format[i]) >= 0 && format[i] != '.' {
			i++
		}
		spec := format[flags:i]
		width, prec := 0, -1
		for ; i < len(format) && program.IsDigit(format[i]); i++ {
			width = min(width*10+int(format[i]-'0'), 4096)
		}
		if i < len(format) && format[i] == '.' {
			prec = 0
			for i++; i < len(format) && program.IsDigit(format[i]); i++ {
				prec = min(prec*10+int(format[i]-'0'), 4096)
			}
		}
		if i >= len(format) || format[i] == '\n' && i == len(format)-1 {
			if i-start > 1 {
				s.p.Errorf("%s: invalid directive", program.Quote(format[start:i]))
				s.p.Exit(1)
			}
			out.WriteByte('%')
			if i < len(format) {
				out.WriteByte('\n')
			}
			continue
		}
		if format[i] == '%' {
			if i-start > 1 {
				s.p.Errorf("%s: invalid directive", program.Quote(format[start:i+1]))
				s.p.Exit(1)
			}
			out.WriteByte('%')
			continue
		}
		mod := byte(0)
		if (format[i] == 'H' || format[i] == 'L') && i+1 < len(format) && (format[i+1] == 'd' || format[i+1] == 'r') {
			mod = format[i]
			i++
		}
		text, kind, ok := field(mod, format[i])
		if !ok {
			out.WriteByte('?')
			continue
		}
		out.WriteString(padStat(text, kind, spec, width, prec))
	}
}

func (s *statRun) escapeAt(format string, i int) int {
	out := s.p.Out
	if i+1 >= len(format) {
		s.p.Errorf("warning: backslash at end of format")
		out.WriteByte('\\')
		return i
	}
	i++
	c := format[i]
	switch {
	case c >= '0' && c <= '7':
		v, n := 0, 0
		for n < 3 && i < len(format) && format[i] >= '0' && format[i] <= '7' {
			v = v*8 + int(format[i]-'0')
			i++
			n++
		}
		out.WriteByte(byte(v))
		return i - 1
	case c == 'x' && i+1 < len(format) && program.IsHex(format[i+1]):
		v, n := 0, 0
		for i++; n < 2 && i < len(format) && program.IsHex(format[i]); n++ {
			d, _ := strconv.ParseUint(format[i:i+1], 16, 8)
			v = v*16 + int(d)
			i++
		}
		out.WriteByte(byte(v))
		return i - 1
	}
	switch c {
	case 'a':
		out.WriteByte('\a')
	case 'b':
		out.WriteByte('\b')
	case 'e':
		out.WriteByte(0x1b)
	case 'f':
		out.WriteByte('\f')
	case 'n':
		out.WriteByte('\n')
	case 'r':
		out.WriteByte('\r')
	case 't':
		out.WriteByte('\t')
	case 'v':
		out.WriteByte('\v')
	case '"', '\\':
		out.WriteByte(c)
	default:
		s.p.Errorf("warning: unrecognized escape '\\%c'", c)
		out.WriteByte(c)
	}
	return i
}

// padStat applies printf flags to the text of a directive.
func padStat(text string, kind byte, flags string, width, prec int) string {
	left := strings.Contains(flags, "-")
	zero := strings.Contains(flags, "0") && !left
	switch kind {
	case 's':
		if prec >= 0 && prec < len(text) {
			text = text[:prec]
		}
		if zero && width > len(text) {
			return strings.Repeat("0", width-len(text)) + text
		}
	case 'S': // seconds with nanoseconds
		whole, frac, _ := strings.Cut(text, ".")
		switch {
		case prec < 0:
			text = whole
			if strings.Contains(flags, ".") {
				text = whole + "." + frac
			}
		case prec == 0:
			text = whole
		default:
			text = whole + "." + (frac + strings.Repeat("0", max(0, prec-9)))[:prec]
		}
	default:
		if prec >= 0 {
			zero = false
			if n := prec - len(text); n > 0 {
				text = strings.Repeat("0", n) + text
			}
		}
		if strings.Contains(flags, "#") {
			switch kind {
			case 'o':
				if !strings.HasPrefix(text, "0") {
					text = "0" + text
				}
			case 'x':
				if text != "0" {
					text = "0x" + text
				}
			}
		}
		if kind == 'i' && !strings.HasPrefix(text, "-") {
			if strings.Contains(flags, "+") {
				text = "+" + text
			} else if strings.Contains(flags, " ") {
				text = " " + text
			}
		}
	}
	n := width - len(text)
	if n <= 0 {
		return text
	}
	switch {
	case left:
		return text + strings.Repeat(" ", n)
	case zero:
		return strings.Repeat("0", n) + text
	}
	return strings.Repeat(" ", n) + text
}

func (s *statRun) field(name string, st vfs.Stat, mod, verb byte, custom bool) (string, byte, bool) {
	num := func(v uint64) (string, byte, bool) { return strconv.FormatUint(v, 10), 'd', true }
	stamp := func(ns int64) (string, byte, bool) {
		return datetime.Format("%Y-%m-%d %H:%M:%S.%N %z", time.Unix(0, ns).In(datetime.Zone(s.p.Getenv("TZ")))), 's', true
	}
	typeBits := map[vfs.Kind]uint32{vfs.FIFO: 0o010000, vfs.Char: 0o020000, vfs.Dir: 0o040000, vfs.Regular: 0o100000,
		vfs.Symlink: 0o120000}
	switch verb {
	case 'a':
		return strconv.FormatUint(uint64(st.Mode), 8), 'o', true
	case 'A':
		return string(program.KindLetter(st.Kind)) + program.ModeString(st.Mode), 's', true
	case 'b':
		return num(uint64(st.Blocks))
	case 'B':
		return num(512)
	case 'C':
		s.p.Errorf("failed to get security context of %s: No data available", program.QuoteName(name))
		return "?", 's', true
	case 'd':
		switch mod {
		case 'H':
			return num(statDeviceNumber >> 8)
		case 'L':
			return num(statDeviceNumber & 0xff)
		}
		return num(statDeviceNumber)
	case 'D':
		return strconv.FormatUint(statDeviceNumber, 16), 'x', true
	case 'f':
		return strconv.FormatUint(uint64(typeBits[st.Kind]|st.Mode), 16), 'x', true
	case 'F':
		return program.KindName(st), 's', true
	case 'g':
		return num(uint64(st.GID))
	case 'G':
		if g := s.names.Group(st.GID); g != "" {
			return g, 's', true
		}
		return "UNKNOWN", 's', true
	case 'h':
		return num(uint64(st.Nlink))
	case 'i':
		return num(st.Ino)
	case 'm':
		return "/", 's', true
	case 'n':
		return name, 's', true
	case 'N':
		q := func(n string) string {
			if custom {
				return program.QuoteName(n)
			}
			return n
		}
		text := q(name)
		if st.Kind == vfs.Symlink {
			if target, err := s.p.FS.Readlink(s.p.Abs(name)); err == nil {
				text += " -> " + q(target)
			}
		}
		return text, 's', true
	case 'o':
		return num(statBlockSize)
	case 'r':
		switch mod {
		case 'H':
			return num(uint64(st.Rdev >> 8))
		case 'L':
			return num(uint64(st.Rdev & 0xff))
		}
		return num(uint64(st.Rdev))
	case 'R':
		return strconv.FormatUint(uint64(st.Rdev), 16), 'x', true
	case 's':
		return strconv.FormatInt(st.Size, 10), 'i', true
	case 't':
		return strconv.FormatUint(uint64(st.Rdev>>8), 16), 'x', true
	case 'T':
		return strconv.FormatUint(uint64(st.Rdev&0xff), 16), 'x', true
	case 'u':
		return num(uint64(st.UID))
	case 'U':
		if u := s.names.User(st.UID); u != "" {
			return u, 's', true
		}
		return "UNKNOWN", 's', true
	case 'w':
		return "-", 's', true
	case 'W':
		return "0", 'd', true
	case 'x', 'y':
		return stamp(st.Mtime)
	case 'z':
		return stamp(st.Ctime)
	case 'X', 'Y':
		return datetime.Seconds(st.Mtime), 'S', true
	case 'Z':
		return datetime.Seconds(st.Ctime), 'S', true
	}
	return "", 0, false
}

func (s *statRun) fsField(name string, verb byte) (string, byte, bool) {
	u := s.p.FS.Usage()
	all, _, free := spaceOf(u.Bytes, u.MaxBytes)
	inodes, _, freeInodes := spaceOf(u.Inodes, u.MaxInodes)
	num := func(v uint64) (string, byte, bool) { return strconv.FormatUint(v, 10), 'd', true }
	switch verb {
	case 'a', 'f':
		return num(free / statBlockSize)
	case 'b':
		return num(all / statBlockSize)
	case 'c':
		return num(inodes)
	case 'd':
		return num(freeInodes)
	case 'i':
		return fmt.Sprintf("%x", statDeviceNumber), 'x', true
	case 'l':
		return num(255)
	case 'n':
		return name, 's', true
	case 's', 'S':
		return num(statBlockSize)
	case 't':
		return "1021994", 'x', true
	case 'T':
		return "tmpfs", 's', true
	}
	return "", 0, false
}
