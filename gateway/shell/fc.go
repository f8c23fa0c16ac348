package shell

import (
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/vfs"
)

// fcOptions are what fc is told.
type fcOptions struct {
	list, bare, reverse, again bool
	editor                     string
	args                       []string
}

func (sh *Shell) fcOptions(args []string) (o fcOptions, status int) {
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		a := args[0]
		if _, err := strconv.Atoi(a); err == nil {
			break
		}
		args = args[1:]
		if a == "--" {
			break
		}
		for i := 1; i < len(a); i++ {
			switch c := a[i]; c {
			case 'l':
				o.list = true
			case 'n':
				o.bare = true
			case 'r':
				o.reverse = true
			case 's':
				o.again = true
			case 'e':
				if o.editor = a[i+1:]; o.editor == "" {
					if len(args) == 0 {
						sh.errorf("fc: -e: option requires an argument")
						sh.eprint(usageLine("fc"))
						return o, 2
					}
					o.editor, args = args[0], args[1:]
				}
				o.again = o.again || o.editor == "-"
				i = len(a)
			default:
				return o, sh.usage("fc", "-"+string(c))
			}
		}
	}
	o.args = args
	return o, 0
}

func builtinFc(sh *Shell, args []string) int {
	o, status := sh.fcOptions(args[1:])
	switch {
	case status != 0:
		return status
	case o.again:
		return sh.fcAgain(o.args)
	case len(sh.history.list) == 0:
		return 0
	}
	from, to, status := sh.fcRange(o)
	if status != 0 {
		return status
	}
	h := &sh.history
	if !o.list && sh.opts.get('Y') && h.added {
		sh.dropCommand()
		to, from = min(to, len(h.list)-1), min(from, len(h.list)-1)
	}
	if from < 0 || to < 0 {
		sh.errorf("fc: history specification out of range")
		return 1
	}
	if from > to {
		from, to, o.reverse = to, from, true
	}
	var b strings.Builder
	for k := from; k <= to; k++ {
		i := k
		if o.reverse {
			i = to - (k - from)
		}
		if o.list {
			if !o.bare {
				b.WriteString(itoa(h.base + i + 1))
			}
			b.WriteByte('\t')
			if !sh.posix {
				b.WriteByte(' ')
			}
		}
		b.WriteString(h.list[i] + "\n")
		sh.readStep()
	}
	if o.list {
		sh.out(b.String())
		return 0
	}
	return sh.fcEdit(o.editor, b.String())
}

// fcNewest is the index of the command before the one that runs, and whether that one is in the list.
func (sh *Shell) fcNewest() (newest int, remembered bool) {
	h := &sh.history
	newest = len(h.list) - 1
	if remembered = sh.opts.get('Y'); remembered && h.added {
		newest--
	}
	return newest, remembered && h.added
}

// fcFind is the index that a number, counted from the first or back from the last, or the beginning of a command means;
// -1 means none.
func (sh *Shell) fcFind(spec string, first, list bool) int {
	h := &sh.history
	newest, _ := sh.fcNewest()
	if newest < 0 || spec == "" {
		return newest
	}
	digits := strings.TrimPrefix(spec, "-")
	if digits != "" && '0' <= digits[0] && digits[0] <= '9' {
		end := 0
		for end < len(digits) && '0' <= digits[end] && digits[end] <= '9' {
			end++
		}
		n, err := strconv.Atoi(digits[:end])
		switch {
		case err != nil:
			return newest
		case n == 0 && digits == spec:
			return newest
		case n == 0 && list:
			return len(h.list) - 1
		case n == 0:
			return -1
		case digits != spec:
			return max(newest+1-n, 0)
		}
		if n -= h.base + 1; n >= 0 && n < newest {
			return n
		} else if first && n != newest {
			return 0
		}
		return newest
	}
	for i := newest; i >= 0; i-- {
		if strings.HasPrefix(h.list[i], spec) {
			return i
		}
	}
	return fcNone
}

const fcNone = -2 // no command begins with what was asked for

// fcRange is what of the history fc is to list or edit.
func (sh *Shell) fcRange(o fcOptions) (from, to, status int) {
	newest, _ := sh.fcNewest()
	newest = max(newest, 0)
	switch {
	case len(o.args) == 0 && o.list:
		from, to = max(newest-15, 0), newest
	case len(o.args) == 0:
		from, to = newest, newest
	default:
		from = sh.fcFind(o.args[0], true, o.list)
		switch {
		case len(o.args) > 1:
			to = sh.fcFind(o.args[1], false, o.list)
		case !o.list || from == len(sh.history.list)-1:
			to = from
		default:
			to = newest
		}
	}
	switch {
	case from == fcNone || to == fcNone:
		sh.errorf("fc: no command found")
		return 0, 0, 1
	case from < 0 || to < 0:
		sh.errorf("fc: history specification out of range")
		return 0, 0, 1
	}
	return from, to, 0
}

// fcAgain is fc -s: a command runs again, with texts replaced, and takes the place of fc in the history.
func (sh *Shell) fcAgain(args []string) int {
	h := &sh.history
	var pairs []string
	for len(args) > 0 {
		pat, rep, ok := strings.Cut(args[0], "=")
		if !ok {
			break
		}
		pairs, args = append(pairs, pat, rep), args[1:]
	}
	spec := ""
	if len(args) > 0 {
		spec = args[0]
	}
	i := sh.fcFind(spec, false, false)
	if i < 0 || i >= len(h.list) {
		sh.errorf("fc: no command found")
		return 1
	}
	text := h.list[i]
	for k := 0; k < len(pairs); k += 2 {
		if pairs[k] != "" {
			sh.hold(int64(len(text) * (1 + len(pairs[k+1]))))
			was := len(text)
			text = strings.ReplaceAll(text, pairs[k], pairs[k+1])
			sh.hold(-int64(was * (1 + len(pairs[k+1]))))
		}
	}
	sh.eprint(text + "\n")
	recorded := sh.opts.get('Y')
	if recorded {
		sh.dropCommand()
		sh.remember(text)
	}
	sh.opts.set('Y', false)
	sh.evalString(text, sh.line-1)
	sh.opts.set('Y', recorded)
	return sh.status
}

// fcEdit has the editor change commands in a file and runs what it leaves there, line by line and shown.
func (sh *Shell) fcEdit(editor, text string) int {
	if editor == "" {
		for _, name := range []string{"FCEDIT", "EDITOR"} {
			if editor = sh.str(name); editor != "" {
				break
			}
		}
	}
	if editor == "" {
		sh.errorf("fc: no editor: there is no terminal")
		return 1
	}
	dir := sh.str("TMPDIR")
	if dir == "" {
		dir = "/tmp"
	}
	file := dir + "/bash-fc." + itoa(sh.proc.pid) + "." + itoa(sh.history.base+len(sh.history.list))
	d, err := sh.openFile(file, vfs.WriteOnly|vfs.Create|vfs.Trunc)
	if err == nil {
		_, err = d.write(sh.ctx, []byte(text))
		d.release()
	}
	if err != nil {
		sh.errorf("fc: %s: cannot open temp file", file)
		return 1
	}
	recorded := sh.opts.get('Y')
	sh.opts.set('Y', false)
	defer sh.opts.set('Y', recorded)
	sh.evalString(editor+" "+file, sh.line-1)
	edited, err := sh.x.fs.ReadFile(file)
	_ = sh.x.fs.Unlink(file)
	if sh.status != 0 || err != nil {
		return 1
	}
	sh.checkSize(string(edited))
	defer sh.hold(-parsedSize(string(edited)))
	sh.eprint(string(edited))
	if recorded {
		sh.remember(strings.TrimSuffix(string(edited), "\n"))
	}
	sh.evalString(string(edited), sh.line-1)
	return sh.status
}
