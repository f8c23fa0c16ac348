package shell

import (
	"path"
	"strconv"
	"strings"
)

// historyExpansion expands the events (!!, !n, !text, ^a^b) of a line; failed is the message where it cannot.
func (sh *Shell) historyExpansion(line string) (text, failed string) {
	if rest, ok := strings.CutPrefix(line, "^"); ok {
		line = "!!:s^" + rest
	}
	if strings.IndexByte(line, '!') < 0 {
		return line, ""
	}
	var b strings.Builder
	double := false
	for i := 0; i < len(line); {
		sh.readStep()
		switch c := line[i]; {
		case c == '\\' && i+1 < len(line):
			b.WriteString(line[i : i+2])
			i += 2
		case c == '"':
			double = !double
			b.WriteByte(c)
			i++
		case c == '\'' && !double:
			k := strings.IndexByte(line[i+1:], '\'')
			if k < 0 {
				k = len(line) - i - 2
			}
			b.WriteString(line[i : i+k+2])
			i += k + 2
		case c == '!' && i+1 < len(line) && strings.IndexByte(" \t\n=(", line[i+1]) < 0 && (!double || line[i+1] != '"'):
			e := eventReader{sh: sh, s: line, i: i + 1, before: b.String()}
			out, ok := e.read()
			if !ok {
				return "", line[i:e.i] + e.failure
			}
			sh.hold(int64(len(out)))
			sh.hold(-int64(len(out)))
			b.WriteString(out)
			i = e.i
		default:
			b.WriteByte(c)
			i++
		}
	}
	return b.String(), ""
}

// eventReader reads one event with its words and modifiers.
type eventReader struct {
	sh      *Shell
	s       string
	i       int
	before  string // what the line has so far, for !#
	failure string
}

func (r *eventReader) read() (string, bool) {
	event, ok := r.event()
	if !ok {
		r.failure = ": event not found"
		return "", false
	}
	text, ok := r.words(event)
	if !ok {
		r.failure = ": bad word specifier"
		return "", false
	}
	for ok && r.i+1 < len(r.s) && r.s[r.i] == ':' {
		text, ok = r.modify(text)
	}
	return text, ok
}

func (r *eventReader) event() (string, bool) {
	list := r.sh.history.list
	rest := r.s[r.i:]
	last := func(n int) (string, bool) {
		if n < 1 || n > len(list) {
			return "", false
		}
		return list[len(list)-n], true
	}
	switch c := rest[0]; {
	case c == '!':
		r.i++
		return last(1)
	case c == '#':
		r.i++
		return r.before, true
	case strings.IndexByte("$^*:", c) >= 0:
		return last(1)
	case c == '?':
		word, _, closed := strings.Cut(rest[1:], "?")
		r.i += len(word) + 1
		if closed {
			r.i++
		}
		for k := len(list) - 1; k >= 0; k-- {
			if strings.Contains(list[k], word) {
				return list[k], true
			}
		}
		return "", false
	}
	n := 0
	if rest[0] == '-' {
		n = 1
	}
	for n < len(rest) && '0' <= rest[n] && rest[n] <= '9' {
		n++
	}
	if v, err := strconv.Atoi(rest[:n]); err == nil {
		r.i += n
		if v < 0 {
			return last(-v)
		}
		return last(len(list) + r.sh.history.base - v + 1)
	}
	n = strings.IndexAny(rest, " \t\n:;&()|<>\"'`^$*")
	if n < 0 {
		n = len(rest)
	}
	r.i += n
	for k := len(list) - 1; k >= 0; k-- {
		if strings.HasPrefix(list[k], rest[:n]) {
			return list[k], true
		}
	}
	return "", false
}

// words picks the words that the designator names.
func (r *eventReader) words(event string) (string, bool) {
	rest := r.s[r.i:]
	spec, colon := strings.CutPrefix(rest, ":")
	if spec == "" || strings.IndexByte("^$*-", spec[0]) < 0 && (!colon || spec[0] < '0' || spec[0] > '9') || !colon && spec[0] == '-' {
		return event, true
	}
	words := historyWords(event)
	at := len(rest) - len(spec)
	number := func(def int) int {
		switch {
		case at < len(rest) && rest[at] == '^':
			at++
			return 1
		case at < len(rest) && rest[at] == '$':
			at++
			return len(words) - 1
		}
		n := at
		for n < len(rest) && '0' <= rest[n] && rest[n] <= '9' {
			n++
		}
		v, err := strconv.Atoi(rest[at:n])
		at = n
		if err != nil {
			return def
		}
		return v
	}
	from, to := 0, 0
	if rest[at] == '*' {
		at++
		from, to = 1, len(words)-1
	} else {
		from = number(0)
		switch {
		case at < len(rest) && rest[at] == '-':
			at++
			to = number(len(words) - 2)
		case at < len(rest) && rest[at] == '*':
			at++
			to = len(words) - 1
		default:
			to = from
		}
	}
	r.i += at
	if from > to && from == 1 {
		return "", true
	}
	if from > to || to >= len(words) {
		return "", false
	}
	return strings.Join(words[from:to+1], " "), true
}

// historyWords splits a command as the shell does into words and operators.
func historyWords(s string) []string {
	var out []string
	for i := 0; i < len(s); {
		if s[i] == ' ' || s[i] == '\t' || s[i] == '\n' {
			i++
			continue
		}
		start := i
		if strings.IndexByte("|&;()<>", s[i]) >= 0 {
			for i < len(s) && s[i] == s[start] {
				i++
			}
		} else {
			for i < len(s) && strings.IndexByte(" \t\n|&;()<>", s[i]) < 0 {
				switch s[i] {
				case '\\':
					i++
				case '\'', '"':
					if k := strings.IndexByte(s[i+1:], s[i]); k >= 0 {
						i += k + 1
					}
				}
				i++
			}
		}
		i = min(i, len(s))
		out = append(out, s[start:i])
	}
	return out
}

// modify applies the modifier after a colon.
func (r *eventReader) modify(text string) (string, bool) {
	r.i++
	global := false
	if r.s[r.i] == 'g' || r.s[r.i] == 'a' {
		global = true
		r.i++
	}
	if r.i >= len(r.s) {
		r.failure = ": unrecognized history modifier"
		return "", false
	}
	c := r.s[r.i]
	r.i++
	switch c {
	case 'h':
		if k := strings.LastIndexByte(text, '/'); k >= 0 {
			text = text[:k]
		}
	case 't':
		text = text[strings.LastIndexByte(text, '/')+1:]
	case 'r':
		text = strings.TrimSuffix(text, path.Ext(text))
	case 'e':
		text = path.Ext(text)
	case 'p':
		r.sh.history.shown = true
	case 'q':
		text = singleQuote(text)
	case 's', '&':
		if c == 's' && r.i < len(r.s) {
			parts := strings.SplitN(r.s[r.i+1:], r.s[r.i:r.i+1], 3)
			r.i++
			h := &r.sh.history
			h.old, h.with = parts[0], ""
			r.i += len(parts[0])
			if len(parts) > 1 {
				h.with = strings.ReplaceAll(parts[1], "&", h.old)
				r.i += 1 + len(parts[1])
			}
			if len(parts) > 2 {
				r.i++
			}
		}
		h := &r.sh.history
		if h.old == "" || !strings.Contains(text, h.old) {
			r.failure = ": substitution failed"
			return "", false
		}
		n := 1
		if global {
			n = -1
		}
		r.sh.hold(int64(len(text) * (1 + len(h.with))))
		was := len(text)
		text = strings.Replace(text, h.old, h.with, n)
		r.sh.hold(-int64(was * (1 + len(h.with))))
	default:
		r.failure = ": unrecognized history modifier"
		return "", false
	}
	return text, true
}
