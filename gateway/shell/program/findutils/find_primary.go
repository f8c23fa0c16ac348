package findutils

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/shell/text/datetime"
	"github.com/pgbox/pgbox/gateway/shell/text/regex"
	"github.com/pgbox/pgbox/gateway/vfs"
)

func (f *findRun) reference(name string) vfs.Stat {
	st, err := f.p.Stat(name)
	if err != nil && f.follow == 'P' {
		st, err = f.p.Lstat(name)
	}
	if err != nil {
		f.fatal("%s: %s", program.Quote(name), proc.Strerror(err))
	}
	return st
}

func (f *findRun) newerTest(xy, arg string) findTest {
	get := timeOf(xy[0])
	var limit int64
	if xy[1] == 't' {
		t, err := datetime.Parse(arg, f.now)
		if err != nil {
			f.fatal("I cannot figure out how to interpret %s as a date or time", program.Quote(arg))
		}
		limit = t.UnixNano()
	} else {
		st := f.reference(arg)
		limit = timeOf(xy[1])(&st)
	}
	return func(e *findEntry) bool { return get(e.stat()) > limit }
}

func (f *findRun) typeTest(name, arg string) findTest {
	set := map[vfs.Kind]bool{}
	none := map[byte]bool{}
	for i := 0; i < len(arg); i++ {
		c := arg[i]
		k := vfs.Kind(0)
		switch c {
		case 'f':
			k = vfs.Regular
		case 'd':
			k = vfs.Dir
		case 'l':
			k = vfs.Symlink
		case 'p':
			k = vfs.FIFO
		case 'c':
			k = vfs.Char
		case 'b', 's', 'D':
		default:
			f.fatal("Unknown argument to %s: %c", name, c)
		}
		if k != 0 && set[k] || none[c] {
			f.fatal("Duplicate file type '%c' in the argument list to %s.", c, name)
		}
		none[c] = true
		if k != 0 {
			set[k] = true
		}
		if i+1 < len(arg) {
			if i++; arg[i] != ',' {
				f.fatal("Must separate multiple arguments to %s using: ','", name)
			}
			if i+1 == len(arg) {
				f.fatal("Last file type in list argument to %s is missing, i.e., list is ending on: ','", name)
			}
		}
	}
	if arg == "" {
		f.fatal("Arguments to %s should contain at least one letter", name)
	}
	if name == "-type" {
		return func(e *findEntry) bool { return set[e.kindOf()] }
	}
	return func(e *findEntry) bool {
		st, err := f.p.Stat(e.path)
		if f.follow == 'L' || f.follow == 'H' && e.depth == 0 {
			st, err = f.p.Lstat(e.path)
		} else if err != nil { // a dangling link is a link
			st, err = f.p.Lstat(e.path)
		}
		return err == nil && set[st.Kind]
	}
}

func (f *findRun) sizeTest(arg string) findTest {
	if arg == "" {
		f.fatal("invalid null argument to -size")
	}
	unit, num := int64(512), arg
	switch c := arg[len(arg)-1]; c {
	case 'b':
		num = arg[:len(arg)-1]
	case 'c', 'w', 'k', 'M', 'G':
		unit = map[byte]int64{'c': 1, 'w': 2, 'k': 1 << 10, 'M': 1 << 20, 'G': 1 << 30}[c]
		num = arg[:len(arg)-1]
	default:
		if c < '0' || c > '9' {
			f.fatal("invalid -size type `%c'", c)
		}
	}
	sign, digits := signOf(num)
	n, err := strconv.ParseUint(digits, 10, 62)
	if err != nil {
		f.fatal("Invalid argument `%s' to -size", arg)
	}
	cmp := comparison(sign, int64(n))
	return func(e *findEntry) bool { return cmp((e.stat().Size + unit - 1) / unit) }
}

func (f *findRun) ageTest(name, arg string) findTest {
	sign, digits := signOf(arg)
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil || n < 0 || math.IsNaN(n) || math.IsInf(n, 0) {
		f.invalid(name, arg)
	}
	get := timeOf(name[1])
	origin := f.origin.UnixNano()
	unit := float64(24 * time.Hour)
	days := strings.HasSuffix(name, "time")
	if !days {
		unit = float64(time.Minute)
	}
	return func(e *findEntry) bool {
		age := float64(origin-get(e.stat())) / unit
		switch {
		case sign == '+' && days:
			return age >= n+1
		case sign == '+':
			return age > n
		case sign == '-':
			return age < n
		case days:
			return age >= n && age < n+1
		}
		return age >= n-1 && age < n
	}
}

func (f *findRun) permTest(arg string) findTest {
	kind, spec := byte('='), arg
	if arg != "" && (arg[0] == '-' || arg[0] == '/') {
		kind, spec = arg[0], arg[1:]
	}
	change, ok := program.ParseMode(spec)
	if !ok || spec == "" || spec[0] == '+' && len(spec) > 1 && spec[1] >= '0' && spec[1] <= '9' {
		f.fatal("invalid mode %s", program.Quote(arg))
	}
	want := change.Apply(0, false, 0)
	wantDir := change.Apply(0, true, 0)
	if kind == '/' && want == 0 {
		f.p.Errorf("warning: you have specified a mode pattern %s (which is equivalent to /000). The meaning of -perm /000 has now been changed to be consistent with -perm -000; that is, while it used to match no files, it now matches all files.", arg)
	}
	return func(e *findEntry) bool {
		st := e.stat()
		w := want
		if st.Kind == vfs.Dir {
			w = wantDir
		}
		switch kind {
		case '-':
			return st.Mode&w == w
		case '/':
			return w == 0 || st.Mode&w != 0
		}
		return st.Mode == w
	}
}

func (f *findRun) accessTest(bit uint32) findTest {
	return func(e *findEntry) bool {
		st, err := f.p.Stat(e.path)
		if err != nil {
			return false
		}
		switch u := f.p.User; {
		case u.UID == 0:
			return bit != 1 || st.Kind == vfs.Dir || st.Mode&0o111 != 0
		case st.UID == u.UID:
			return st.Mode>>6&bit != 0
		case st.GID == u.GID:
			return st.Mode>>3&bit != 0
		}
		return st.Mode&bit != 0
	}
}

var findRegexTypes = []string{"findutils-default", "ed", "emacs", "gnu-awk", "grep", "posix-awk", "awk", "posix-basic",
	"posix-egrep", "egrep", "posix-extended", "posix-minimal-basic", "sed"}

func (f *findRun) regexTest(pat string, fold bool) findTest {
	opt := regex.Options{WholeLine: true, IgnoreCase: fold, Bytes: program.ByteLocale(f.p)}
	src := pat
	switch f.regexType {
	case "findutils-default", "emacs":
		opt.Extended, opt.Dialect = true, regex.Grep
		src = program.EmacsToExtended(pat)
	case "gnu-awk", "posix-awk", "awk":
		opt.Dialect = regex.Awk
	case "posix-egrep", "egrep":
		opt.Extended, opt.Dialect = true, regex.Grep
	case "posix-extended":
		opt.Extended = true
	case "posix-minimal-basic":
		// Only POSIX's own operators.
		src = strings.NewReplacer(`\\`, `\\`, `\|`, `|`, `\+`, `+`, `\?`, `?`).Replace(pat)
	}
	re, err := regex.Compile(src, opt)
	if err != nil {
		f.fatal("failed to compile regular expression '%s': %v", pat, err)
	}
	re.SetTick(f.p.Tick)
	return func(e *findEntry) bool { return re.Match([]byte(e.path)) }
}
