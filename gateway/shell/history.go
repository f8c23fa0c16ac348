package shell

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/pattern"
	"github.com/pgbox/pgbox/gateway/shell/proc"
)

// history is the list of commands that history and fc work on. A script keeps one only when it asks for it, by set -o history or history -s.
type history struct {
	list []string
	base int // number of the first entry, less one

	loaded    int    // entries that were there when the session began
	old, with string // of the last substitution
	failed    bool   // the last line could not be expanded: the prompt's commands do not run again
	shown     bool   // :p was met: the line is shown and not run
}

// maxHistory is how many commands are kept, as many as HISTSIZE says by default.
const maxHistory = 500

// remember adds a command to the history, where HISTCONTROL and HISTIGNORE let it.
func (sh *Shell) remember(text string) {
	h := &sh.history
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
	most := maxHistory
	if n, err := strconv.Atoi(sh.str("HISTSIZE")); err == nil && n >= 0 {
		most = min(n, maxHistory)
	}
	if len(h.list) > most {
		sh.hold(-int64(len(h.list[0])) - 16)
		h.list = h.list[1:]
		h.base++
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
	for k, l := range part {
		if k > 0 {
			last := strings.TrimRight(b.String(), " \t")
			word := last[strings.LastIndexAny(last, " \t;")+1:]
			switch word {
			case "then", "do", "else", "{", "(", "in", "&&", "||", "|", ";;", "elif", "while", "if", "until":
				b.WriteByte(' ')
			default:
				if strings.HasSuffix(last, ";") || strings.HasSuffix(last, "|") || strings.HasSuffix(last, "&") || strings.HasSuffix(last, ")") && strings.Contains(last, "case ") {
					b.WriteByte(' ')
				} else {
					b.WriteString("; ")
				}
			}
		}
		b.WriteString(l)
	}
	sh.remember(b.String())
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
				mode = c
				if c == 'c' {
					for _, l := range h.list {
						sh.hold(-int64(len(l)) - 16)
					}
					*h = history{}
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
		n, err := strconv.Atoi(del)
		if err == nil && n < 0 {
			n += len(h.list) + h.base + 1
		}
		if n -= h.base; err != nil || n < 1 || n > len(h.list) {
			sh.errorf("history: %s: history position out of range", del)
			return 1
		}
		sh.hold(-int64(len(h.list[n-1])) - 16)
		h.list = append(append([]string{}, h.list[:n-1]...), h.list[n:]...)
		return 0
	case 's':
		if len(args) > 0 {
			if sh.opts.get('Y') && len(h.list) > 0 {
				h.list = h.list[:len(h.list)-1] // the command itself
			}
			sh.remember(strings.Join(args, " "))
		}
		return 0
	case 'p':
		status := 0
		if sh.opts.get('Y') && len(h.list) > 0 {
			h.list = h.list[:len(h.list)-1] // the command itself
		}
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

func (sh *Shell) historyFile(mode byte, name string) int {
	if name == "" {
		return 0
	}
	if mode == 'r' || mode == 'n' {
		d, err := sh.openFile(name, proc.ReadOnly)
		if err != nil {
			sh.errorf("history: %s: cannot read: %s", name, proc.Strerror(err))
			return 1
		}
		text := sh.slurp(d)
		d.release()
		for l := range strings.Lines(text) {
			sh.remember(strings.TrimSuffix(l, "\n"))
		}
		return 0
	}
	flag := proc.WriteOnly | proc.Create | proc.Trunc
	if mode == 'a' {
		flag = proc.WriteOnly | proc.Create | proc.Append
	}
	d, err := sh.openFile(name, flag)
	if err == nil {
		text := ""
		if len(sh.history.list) > 0 {
			text = strings.Join(sh.history.list, "\n") + "\n"
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

func builtinFc(sh *Shell, args []string) int {
	args = args[1:]
	var list, bare, reverse, again bool
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
				list = true
			case 'n':
				bare = true
			case 'r':
				reverse = true
			case 's':
				again = true
			case 'e':
				if a[i+1:] == "" {
					if len(args) == 0 {
						sh.errorf("fc: -e: option requires an argument")
						sh.eprint(usageLine("fc"))
						return 2
					}
					again = again || args[0] == "-"
					args = args[1:]
				}
				i = len(a)
			default:
				return sh.usage("fc", "-"+string(c))
			}
		}
	}
	h := &sh.history
	entries := h.list
	if sh.opts.get('Y') && len(entries) > 0 {
		entries = entries[:len(entries)-1] // not fc itself
	}
	if again {
		pat, rep, subst := "", "", false
		if len(args) > 0 {
			if pat, rep, subst = strings.Cut(args[0], "="); subst {
				args = args[1:]
			}
		}
		text, ok := "", len(entries) > 0
		if ok {
			text = entries[len(entries)-1]
		}
		if len(args) > 0 {
			ok = false
			for i := len(entries) - 1; i >= 0 && !ok; i-- {
				if strings.HasPrefix(entries[i], args[0]) {
					text, ok = entries[i], true
				}
			}
		}
		if !ok {
			sh.errorf("fc: no command found")
			return 1
		}
		if subst {
			text = strings.ReplaceAll(text, pat, rep)
		}
		sh.eprint(text + "\n")
		if sh.opts.get('Y') && len(h.list) > 0 {
			h.list = append(append([]string{}, h.list[:len(h.list)-1]...), text)
		}
		sh.evalString(text, sh.line-1)
		return sh.status
	}
	if len(entries) == 0 {
		return 0
	}
	find := func(s string, def int) (int, bool) {
		if s == "" {
			return def, true
		}
		if n, err := strconv.Atoi(s); err == nil {
			if n < 0 {
				n += len(entries)
			} else {
				n -= h.base + 1
			}
			return min(max(n, 0), len(entries)-1), true
		}
		for i := len(entries) - 1; i >= 0; i-- {
			if strings.HasPrefix(entries[i], s) {
				return i, true
			}
		}
		return 0, false
	}
	first, last := "", ""
	if len(args) > 0 {
		first = args[0]
	}
	if len(args) > 1 {
		last = args[1]
	}
	if !list {
		sh.errorf("fc: no editor: there is no terminal")
		return 1
	}
	from, ok := find(first, max(len(entries)-16, 0))
	to, ok2 := find(last, len(entries)-1)
	if !ok || !ok2 {
		sh.errorf("fc: history specification out of range")
		return 1
	}
	if from > to {
		from, to, reverse = to, from, !reverse
	}
	for k := from; k <= to; k++ {
		i := k
		if reverse {
			i = to - (k - from)
		}
		num := itoa(h.base + i + 1)
		if bare {
			num = ""
		}
		sh.out(num + "\t " + entries[i] + "\n")
	}
	return 0
}
