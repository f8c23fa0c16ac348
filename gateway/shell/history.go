package shell

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/text/pattern"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// history is the list of commands that history and fc work on. A script keeps one only when it asks for it, by set -o
// history or history -s.
type history struct {
	list []string
	base int // number of the first entry, less one

	loaded    int    // entries that were there when the session began
	old, with string // of the last substitution
	failed    bool   // the last line could not be expanded: the prompt's commands do not run again
	sought    string // of the last !?text?
	session   int    // commands of this session that no file has
	read      int    // lines that were read from its file
	begun     bool   // HISTFILE has been read
	shown     bool   // :p was met: the line is shown and not run
	added     bool   // the command that is running is in the list
}

// maxHistory is how many commands are kept, as many as HISTSIZE says by default.
const maxHistory = 500

// remember adds a command to the history, where HISTCONTROL and HISTIGNORE let it.
func (sh *Shell) remember(text string) {
	h := &sh.history
	h.added = false
	control := strings.Split(sh.str("HISTCONTROL"), ":")
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(control, w) })
	}
	if strings.HasPrefix(text, " ") && has("ignorespace", "ignoreboth") {
		return
	}
	if n := len(h.list); n > 0 && h.list[n-1] == text && has("ignoredups", "ignoreboth") {
		return
	}
	for p := range strings.SplitSeq(sh.str("HISTIGNORE"), ":") {
		if p != "" && pattern.Compile(p, sh.patternFlags(false), sh.readStep).Match(text) {
			return
		}
	}
	if has("erasedups") {
		h.list = slices.DeleteFunc(slices.Clone(h.list), func(l string) bool {
			if l != text {
				return false
			}
			sh.hold(-int64(len(l)) - 16)
			return true
		})
	}
	sh.hold(int64(len(text)) + 16)
	h.list = append(h.list[:len(h.list):len(h.list)], text)
	h.added = true
	h.session++
	sh.trimHistory(sh.str("HISTSIZE"))
}

// trimHistory forgets what is more than HISTSIZE, which is size.
func (sh *Shell) trimHistory(size string) (trimmed bool) {
	h := &sh.history
	most := maxHistory
	if n, err := strconv.Atoi(size); err == nil && n >= 0 {
		most = min(n, maxHistory)
	}
	for len(h.list) > most {
		sh.hold(-int64(len(h.list[0])) - 16)
		h.list = h.list[1:]
		h.base++
		trimmed = true
	}
	return trimmed
}

// forgetHistory drops the entries from the index from to before the index to.
func (sh *Shell) forgetHistory(from, to int) {
	h := &sh.history
	for _, l := range h.list[from:to] {
		sh.hold(-int64(len(l)) - 16)
	}
	h.list = append(append([]string{}, h.list[:from]...), h.list[to:]...)
}

// dropCommand takes the command that is running out of the history again, when it is there.
func (sh *Shell) dropCommand() {
	if h := &sh.history; sh.opts.get('Y') && h.added && len(h.list) > 0 {
		sh.forgetHistory(len(h.list)-1, len(h.list))
		h.added = false
	}
}

// recordLine puts the line of a group that is about to run into the history.
func (sh *Shell) recordLine(p *program, i int) {
	lines := strings.Split(p.src, "\n")
	from, to := p.starts[i]-1, p.ends[i]
	for _, st := range p.groups[i] {
		to += st.docLines()
	}
	if from >= len(lines) {
		return
	}
	part := lines[from:min(to, len(lines))]
	if len(part) == 1 || strings.Contains(strings.Join(part, "\n"), "<<") {
		sh.remember(strings.Join(part, "\n"))
		return
	}
	// A command of several lines becomes one.
	var b strings.Builder
	var open byte
	for k, l := range part {
		sh.readStep()
		if k > 0 && open != 0 {
			b.WriteByte('\n')
		} else if k > 0 {
			last := strings.TrimRight(b.String(), " \t")
			word := last[strings.LastIndexAny(last, " \t;")+1:]
			switch word {
			case "then", "do", "else", "{", "(", "in", "&&", "||", "|", ";;", "elif", "while", "if", "until":
				b.WriteByte(' ')
			default:
				if strings.HasSuffix(last, ";") || strings.HasSuffix(last, "|") || strings.HasSuffix(last, "&") ||
					strings.HasSuffix(last, ")") && strings.Contains(last, "case ") {
					b.WriteByte(' ')
				} else {
					b.WriteString("; ")
				}
			}
		}
		b.WriteString(l)
		open = quoteAfter(open, l)
	}
	sh.remember(b.String())
}

// quoteAfter is the quote that is open after a text that begins within the quote open, 0 for none.
func quoteAfter(open byte, s string) byte {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && open != '\'':
			i++
		case open != 0:
			if c == open {
				open = 0
			}
		case c == '"' || c == '\'' || c == '`':
			open = c
		}
	}
	return open
}

// loadHistory reads HISTFILE when the history is turned on.
func (sh *Shell) loadHistory() {
	h := &sh.history
	file := sh.str("HISTFILE")
	if h.begun || file == "" {
		return
	}
	h.begun = true
	if d, err := sh.openFile(file, vfs.ReadOnly); err == nil {
		d.release()
		sh.historyFile('r', file)
	}
}

func builtinHistory(sh *Shell, args []string) int {
	h := &sh.history
	args = args[1:]
	var mode byte
	del := ""
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		a := args[0]
		args = args[1:]
		if a == "--" {
			break
		}
		for i := 1; i < len(a); i++ {
			switch c := a[i]; c {
			case 'c', 'a', 'n', 'r', 'w', 'p', 's':
				if strings.IndexByte("anrw", c) >= 0 && mode != 0 && mode != c && strings.IndexByte("anrw", mode) >= 0 {
					sh.errorf("history: cannot use more than one of -anrw")
					return 1
				}
				mode = c
				if c == 'c' {
					for _, l := range h.list {
						sh.hold(-int64(len(l)) - 16)
					}
					h.list, h.base, h.added = nil, 0, false
				}
			case 'd':
				mode = 'd'
				if del = a[i+1:]; del == "" {
					if len(args) == 0 {
						sh.errorf("history: -d: option requires an argument")
						sh.eprint(usageLine("history"))
						return 2
					}
					del, args = args[0], args[1:]
				}
				i = len(a)
			default:
				return sh.usage("history", "-"+string(c))
			}
		}
	}
	switch mode {
	case 'c':
		return 0
	case 'd':
		return sh.deleteHistory(del)
	case 's':
		if len(args) > 0 {
			sh.dropCommand()
			sh.remember(strings.Join(args, " "))
			h.added = false
		}
		return 0
	case 'p':
		status := 0
		sh.dropCommand()
		for _, a := range args {
			text, err := sh.historyExpansion(a)
			if err != "" {
				sh.errorf("history: %s: history expansion failed", a)
				status = 1
				continue
			}
			sh.out(text + "\n")
		}
		return status
	case 'a', 'n', 'r', 'w':
		name := sh.str("HISTFILE")
		if len(args) > 0 {
			name = args[0]
		}
		return sh.historyFile(mode, name)
	}
	from := 0
	if len(args) > 0 {
		n, err := strconv.Atoi(args[0])
		if err != nil {
			sh.errorf("history: %s: numeric argument required", args[0])
			return 1
		}
		if len(args) > 1 {
			sh.errorf("history: too many arguments")
			return 1
		}
		if n < 0 {
			n = -n
		}
		from = max(len(h.list)-n, 0)
	}
	for i := from; i < len(h.list); i++ {
		num := itoa(h.base + i + 1)
		sh.out(strings.Repeat(" ", max(5-len(num), 0)) + num + "  " + h.list[i] + "\n")
	}
	return 0
}

// deleteHistory is history -d: one entry, or from one to another. Negative positions count from the end.
func (sh *Shell) deleteHistory(spec string) int {
	h := &sh.history
	position := func(s string) (int, bool) {
		n, err := strconv.Atoi(s)
		if err == nil && n < 0 {
			n += len(h.list)
		} else {
			n -= h.base + 1
		}
		if err != nil || n < 0 || n >= len(h.list) {
			sh.errorf("history: %s: history position out of range", s)
			return 0, false
		}
		return n, true
	}
	first, last := spec, ""
	if k := strings.IndexByte(spec[min(1, len(spec)):], '-'); k >= 0 {
		first, last = spec[:k+1], spec[k+2:]
		if _, err := strconv.Atoi(first); err != nil {
			first = spec
		} else if _, err := strconv.ParseInt(last, 10, 64); err != nil {
			sh.errorf("history: %s: history position out of range", spec)
			return 1
		}
	}
	from, ok := position(first)
	if !ok {
		return 1
	}
	to := from
	if last != "" {
		if to, ok = position(last); !ok || to < from {
			return 1
		}
	}
	sh.forgetHistory(from, to+1)
	return 0
}

func (sh *Shell) historyFile(mode byte, name string) int {
	h := &sh.history
	if name == "" {
		return 0
	}
	if mode == 'r' || mode == 'n' {
		d, err := sh.openFile(name, vfs.ReadOnly)
		if err != nil {
			sh.errorf("history: %s: cannot read: %s", name, proc.Strerror(err))
			return 1
		}
		text := sh.slurp(d)
		d.release()
		lines := 0
		for l := range strings.Lines(text) {
			if lines++; mode == 'n' && lines <= h.read {
				continue
			}
			sh.hold(int64(len(l)) + 16)
			h.list = append(h.list, strings.TrimSuffix(l, "\n"))
			sh.tick()
		}
		h.read = lines
		sh.trimHistory(sh.str("HISTSIZE"))
		return 0
	}
	list := h.list
	if mode == 'a' {
		list = list[max(len(list)-h.session, 0):]
		h.session = 0
	}
	flag := vfs.WriteOnly | vfs.Create | vfs.Trunc
	if mode == 'a' {
		flag = vfs.WriteOnly | vfs.Create | vfs.Append
	}
	d, err := sh.openFile(name, flag)
	if err == nil {
		text := ""
		if len(list) > 0 {
			text = strings.Join(list, "\n") + "\n"
		}
		_, err = d.write(sh.ctx, []byte(text))
		d.release()
	}
	if err != nil {
		sh.errorf("history: %s: cannot create: %s", name, proc.Strerror(err))
		return 1
	}
	return 0
}
