package shell

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pgbox/pgbox/gateway/shell/proc"
)

// readLine reads up to and including delim, consuming nothing after it.
func (sh *Shell) readLine(d *desc, delim byte) (string, error) {
	var b []byte
	for {
		c, err := d.readUntil(sh.ctx, delim, 1<<20)
		if err != nil {
			sh.checkAlive()
			return string(b), err
		}
		if b == nil && len(c) > 0 && c[len(c)-1] == delim {
			return string(c), nil
		}
		b = append(b, c...)
		if len(b) > 1<<20 {
			sh.hold(int64(len(c)))
		}
		sh.tick()
		if len(c) > 0 && c[len(c)-1] == delim {
			return string(b), nil
		}
	}
}

func builtinRead(sh *Shell, args []string) int {
	var raw bool
	var arrayName, prompt string
	isArray := false
	delim := byte('\n')
	nchars, exact := -1, false
	timeout := time.Duration(-1)
	fd := 0
	args = args[1:]
opts:
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		a := args[0]
		args = args[1:]
		if a == "--" {
			break
		}
		for i := 1; i < len(a); i++ {
			c := a[i]
			switch c {
			case 'r':
				raw = true
				continue
			case 's', 'e':
				continue
			}
			if strings.IndexByte("adinNptu", c) < 0 {
				return sh.usage("read", "-"+string(c))
			}
			val := a[i+1:]
			if val == "" {
				if len(args) == 0 {
					sh.errorf("read: -%c: option requires an argument", c)
					sh.eprint(usageLine("read"))
					return 2
				}
				val, args = args[0], args[1:]
			}
			switch c {
			case 'a':
				arrayName, isArray = val, true
			case 'd':
				delim = 0
				if val != "" {
					delim = val[0]
				}
			case 'n', 'N':
				n, err := strconv.Atoi(val)
				if err != nil || n < 0 {
					sh.errorf("read: %s: invalid number", val)
					return 1
				}
				nchars, exact = n, c == 'N'
			case 'p':
				prompt = val
			case 't':
				f, err := strconv.ParseFloat(val, 64)
				if err != nil || f < 0 {
					sh.errorf("read: %s: invalid timeout specification", val)
					return 1
				}
				timeout = time.Duration(f * float64(time.Second))
			case 'u':
				n, err := strconv.Atoi(val)
				if err != nil || n < 0 {
					sh.errorf("read: %s: invalid file descriptor specification", val)
					return 1
				}
				fd = n
			}
			continue opts
		}
	}
	if isArray {
		arrayName = sh.target(arrayName)
	}
	if isArray && !isName(arrayName) {
		sh.errorf("read: `%s': not a valid identifier", arrayName)
		return 1
	}
	for _, a := range args {
		n, _, _ := strings.Cut(a, "[")
		if !isName(n) {
			sh.errorf("read: `%s': not a valid identifier", a)
			return 1
		}
	}
	_ = prompt // shown on terminals only
	d := sh.fds.get(fd)
	if d == nil {
		sh.errorf("read: %d: invalid file descriptor: Bad file descriptor", fd)
		return 1
	}
	ctx := sh.ctx
	if timeout == 0 {
		// Only asks whether there is input.
		if p, ok := d.stream.(pipeReader); ok {
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.n > 0 || p.writers == 0 {
				return 0
			}
			return 1
		}
		return 0
	}
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	line, quoted, err := sh.readInput(ctx, d, delim, raw, nchars, exact)
	status := 0
	if err != nil {
		status = 1
		if ctx.Err() != nil && sh.ctx.Err() == nil {
			status = 142
		} else if !errors.Is(err, io.EOF) {
			sh.errorf("read: read error: %d: %s", fd, proc.Strerror(err))
			return 1
		}
	}
	if exact {
		// -N does not split.
		if isArray {
			sh.setArray(arrayName, []string{line})
			return status
		}
		name := "REPLY"
		if len(args) > 0 {
			name = args[0]
		}
		sh.setTarget(name, line)
		for _, a := range args[min(1, len(args)):] {
			sh.setTarget(a, "")
		}
		return status
	}
	if isArray {
		sh.setArray(arrayName, sh.readFields(line, quoted, -1))
		return status
	}
	if len(args) == 0 {
		sh.setVar("REPLY", line)
		return status
	}
	fields := sh.readFields(line, quoted, len(args))
	for i, a := range args {
		v := ""
		if i < len(fields) {
			v = fields[i]
		}
		sh.setTarget(a, v)
	}
	return status
}

// target is the variable that a name given to a builtin refers to; of an element it has the subscript.
func (sh *Shell) target(name string) string {
	n, sub := sh.deref(name, nil)
	if sub != nil {
		n += "[" + sub.text + "]"
	}
	return n
}

// setTarget assigns a name or an array element given as text.
func (sh *Shell) setTarget(name, val string) {
	if n, rest, ok := strings.Cut(name, "["); ok && strings.HasSuffix(rest, "]") {
		c := compiler{}
		sh.setElement(n, c.subscript(rest[:len(rest)-1]), val, false)
		return
	}
	sh.setVar(name, val)
}

// readInput reads what one read command takes. quoted marks bytes that a backslash protects from splitting (nil: none).
func (sh *Shell) readInput(
	ctx context.Context, d *desc, delim byte, raw bool, nchars int, exact bool,
) (line string, quoted []bool, err error) {
	var b []byte
	var q []bool
	esc := false
	chars := 0
	if nchars == 0 {
		return "", nil, nil
	}
	add := func(c byte, isQuoted bool) {
		if isQuoted && q == nil {
			q = make([]bool, len(b), len(b)+16)
		}
		b = append(b, c)
		if q != nil {
			q = append(q, isQuoted)
		}
	}
	for {
		limit := 1 << 20
		if nchars > 0 {
			limit = 1
		}
		end := delim
		chunk, rerr := d.readUntil(ctx, end, limit)
		if rerr != nil {
			sh.checkAlive()
			return string(b), q, rerr
		}
		sh.tick()
		if raw && q == nil && nchars < 0 {
			n := len(chunk)
			last := n > 0 && chunk[n-1] == delim
			if last {
				n--
			}
			for _, c := range chunk[:n] {
				if c != 0 {
					b = append(b, c)
				}
			}
			if len(b) > 1<<20 {
				sh.hold(int64(n))
			}
			if last {
				return string(b), nil, nil
			}
			continue
		}
		for _, c := range chunk {
			switch {
			case esc:
				esc = false
				if c == '\n' {
					continue
				}
				add(c, true)
			case !raw && c == '\\':
				esc = true
				continue
			case c == delim && !exact:
				return string(b), q, nil
			case c == 0:
				continue
			default:
				add(c, false)
			}
			if nchars > 0 {
				if c < 0x80 || sh.bytes() || utf8.Valid(b[lastRune(b):]) {
					chars++
				}
				if chars >= nchars {
					return string(b), q, nil
				}
			}
		}
	}
}

func lastRune(b []byte) int {
	for i := len(b) - 1; i >= 0 && i > len(b)-5; i-- {
		if utf8.RuneStart(b[i]) {
			return i
		}
	}
	return max(len(b)-1, 0)
}

// readFields splits a line into at most n fields (n < 0: all) as read does: the last one keeps its separators.
func (sh *Shell) readFields(s string, quoted []bool, n int) []string {
	if sh.ifsChanged || sh.ifs.first == "" && !sh.ifs.null {
		sh.loadIFS()
	}
	t := &sh.ifs
	class := func(i int) byte {
		if quoted != nil && i < len(quoted) && quoted[i] {
			return 0
		}
		return t.class[s[i]]
	}
	end := len(s)
	for end > 0 && class(end-1) == 1 {
		end--
	}
	i := 0
	for i < end && class(i) == 1 {
		i++
	}
	var out []string
	for i < end {
		if n > 0 && len(out) == n-1 {
			// The rest, without one trailing separator when nothing else follows it.
			rest := s[i:end]
			k := i
			for k < end && class(k) == 0 {
				k++
			}
			if k < end {
				m := k
				for m < end && class(m) == 1 {
					m++
				}
				if m < end && class(m) == 2 {
					m++
					for m < end && class(m) == 1 {
						m++
					}
				}
				if m >= end {
					rest = s[i:k]
				}
			}
			return append(out, rest)
		}
		k := i
		for k < end && class(k) == 0 {
			k++
		}
		out = append(out, s[i:k])
		for k < end && class(k) == 1 {
			k++
		}
		if k < end && class(k) == 2 {
			k++
			for k < end && class(k) == 1 {
				k++
			}
		}
		i = k
	}
	return out
}

func builtinMapfile(sh *Shell, args []string) int {
	name := args[0]
	args = args[1:]
	delim := byte('\n')
	count, origin, skip, fd, quantum := 0, -1, 0, 0, 5000
	trim := false
	callback := ""
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		a := args[0]
		args = args[1:]
		if a == "--" {
			break
		}
		for i := 1; i < len(a); i++ {
			c := a[i]
			if c == 't' {
				trim = true
				continue
			}
			if strings.IndexByte("dnOsuCc", c) < 0 {
				return sh.usage(name, "-"+string(c))
			}
			val := a[i+1:]
			if val == "" {
				if len(args) == 0 {
					sh.errorf("%s: -%c: option requires an argument", name, c)
					return 2
				}
				val, args = args[0], args[1:]
			}
			num, err := strconv.Atoi(val)
			if err != nil && c != 'd' && c != 'C' {
				sh.errorf("%s: %s: invalid line count", name, val)
				return 1
			}
			switch c {
			case 'd':
				delim = 0
				if val != "" {
					delim = val[0]
				}
			case 'n':
				count = num
			case 'O':
				if num < 0 {
					sh.errorf("%s: %s: invalid array origin", name, val)
					return 1
				}
				origin = num
			case 's':
				skip = num
			case 'u':
				fd = num
			case 'C':
				callback = val
			case 'c':
				if num <= 0 {
					sh.errorf("%s: %s: invalid callback quantum", name, val)
					return 1
				}
				quantum = num
			}
			break
		}
	}
	array := "MAPFILE"
	if len(args) > 0 {
		array = args[0]
	}
	array = sh.target(array)
	if !isName(array) {
		sh.errorf("%s: `%s': not a valid identifier", name, array)
		return 1
	}
	d := sh.fds.get(fd)
	if d == nil {
		sh.errorf("%s: %d: invalid file descriptor: Bad file descriptor", name, fd)
		return 1
	}
	if v := sh.vars[array]; v != nil && v.attrs&aAssoc != 0 {
		sh.errorf("%s: %s: not an indexed array", name, array)
		return 1
	}
	if v := sh.vars[array]; origin < 0 || v == nil || v.attrs&aSet == 0 {
		sh.setArray(array, []string{})
	}
	at := int64(max(origin, 0))
	for n := 0; ; n++ {
		l, err := sh.readLine(d, delim)
		if l == "" && err != nil {
			break
		}
		if n < skip {
			continue
		}
		if trim || delim == 0 {
			l = strings.TrimSuffix(l, string([]byte{delim}))
		}
		if callback != "" && (n-skip+1)%quantum == 0 {
			sh.evalString(callback+" "+strconv.FormatInt(at, 10)+" "+quoteReusable(l), sh.line-1)
		}
		v := sh.own(array)
		sh.makeArray(v)
		old := v.arr.bytes
		v.arr.set(at, sh.convert(v, strings.ReplaceAll(l, "\x00", "")))
		v.attrs |= aSet
		sh.hold(v.arr.bytes - old)
		at++
		if count > 0 && n-skip+1 >= count || err != nil {
			break
		}
	}
	return 0
}
