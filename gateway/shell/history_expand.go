package shell

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// historyExpansion expands the events (!!, !n, !text, ^a^b) of a line; failed is the message where it cannot.
func (sh *Shell) historyExpansion(line string) (text, failed string) {
	return sh.expandEvents(line, &quoting{posix: sh.posix})
}

// expandEvents is historyExpansion of a line that begins within the quotes of st.
func (sh *Shell) expandEvents(line string, st *quoting) (text, failed string) {
	if rest, ok := strings.CutPrefix(line, "^"); ok {
		line = "!!:s^" + rest
	}
	if strings.IndexByte(line, '!') < 0 {
		for i := 0; i < len(line); {
			i += st.step(line, i)
		}
		return line, ""
	}
	held := int64(0)
	defer func() { sh.hold(-held) }()
	var b strings.Builder
	for i := 0; i < len(line); {
		sh.readStep()
		if c := line[i]; c == '!' && i+1 < len(line) && strings.IndexByte(" \t\n=(", line[i+1]) < 0 && !st.quoted() &&
			(!st.double() || line[i+1] != '"') &&
			(i == 0 || line[i-1] != '$' && line[i-1] != '[') && !strings.HasSuffix(line[:i], "${") {
			e := eventReader{sh: sh, s: line, i: i + 1, before: b.String(), double: st.double()}
			out, ok := e.read()
			if !ok {
				return "", line[max(i, e.wrong):e.i] + e.failure
			}
			sh.hold(int64(len(out)))
			held += int64(len(out))
			b.WriteString(out)
			i = e.i
			continue
		}
		n := st.step(line, i)
		b.WriteString(line[i : i+n])
		i += n
	}
	return b.String(), ""
}

// quoting is where in quotes and substitutions a text ends, as far as the expansion of events has to know.
type quoting struct {
	posix  bool
	nested []byte // of the substitutions around: the quote that is open in each, 0 for none; the first is the line's
}

func (q *quoting) top() *byte {
	if len(q.nested) == 0 {
		q.nested = append(q.nested, 0)
	}
	return &q.nested[len(q.nested)-1]
}

func (q *quoting) double() bool { return *q.top() == '"' }

// quoted reports whether nothing is expanded: within single quotes, and in POSIX mode within double ones.
func (q *quoting) quoted() bool { return *q.top() == '\'' || q.posix && q.double() }

// step goes over what is at offset i and returns its length.
func (q *quoting) step(s string, i int) int {
	open := q.top()
	switch c := s[i]; {
	case c == '\\' && *open != '\'' && i+1 < len(s):
		return 2
	case *open == '\'':
		if c == '\'' {
			*open = 0
		}
	case (c == '$' || *open == 0 && (c == '<' || c == '>')) && i+1 < len(s) && s[i+1] == '(' && len(q.nested) < maxNesting:
		q.nested = append(q.nested, 0)
		return 2
	case c == '"' && *open == '"':
		*open = 0
	case *open == 0 && (c == '"' || c == '\''):
		*open = c
	case *open == 0 && c == '(' && len(q.nested) > 1 && len(q.nested) < maxNesting:
		q.nested = append(q.nested, 0)
	case *open == 0 && c == ')' && len(q.nested) > 1:
		q.nested = q.nested[:len(q.nested)-1]
	}
	return 1
}

// eventReader reads one event with its words and modifiers.
type eventReader struct {
	sh      *Shell
	s       string
	i       int
	double  bool   // it is in double quotes
	before  string // what the line has so far, for !#
	wrong   int    // where the modifier begins that failed
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
		r.sh.history.sought = word
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
	ends := " \t\n:;&()|<>^$*%-"
	if r.double {
		ends += "\""
	}
	if n = strings.IndexAny(rest, ends); n < 0 {
		n = len(rest)
	}
	r.i += n
	if n == 0 {
		return "", false
	}
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
	if spec == "" || strings.IndexByte("^$*-%", spec[0]) < 0 && (!colon || spec[0] < '0' || spec[0] > '9') ||
		!colon && spec[0] == '-' {
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
	switch rest[at] {
	case '*':
		at++
		from, to = 1, len(words)-1
	case '%':
		at++
		r.i += at
		for _, w := range slices.Backward(words) {
			if strings.Contains(w, r.sh.history.sought) {
				return w, true
			}
		}
		return "", false
	default:
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
		if strings.IndexByte("|&;()<>", s[i]) >= 0 && !opensNest(s, i) {
			for i < len(s) && s[i] == s[start] {
				i++
			}
		} else {
			for i < len(s) && (strings.IndexByte(" \t\n|&;()<>", s[i]) < 0 || opensNest(s, i)) {
				if opensNest(s, i) {
					i = skipNest(s, i+1) + 1
					continue
				}
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
		if i < len(s) && (s[i] == '<' || s[i] == '>') && strings.Trim(s[start:i], "0123456789") == "" {
			for i < len(s) && strings.IndexByte("<>&", s[i]) >= 0 {
				i++ // the operator has the descriptor
			}
		}
		out = append(out, s[start:i])
	}
	return out
}

// opensNest reports whether a substitution or an extended pattern begins at offset i, which is part of its word.
func opensNest(s string, i int) bool {
	return i+1 < len(s) && (s[i+1] == '(' && strings.IndexByte("$<>+*?@!", s[i]) >= 0 || s[i+1] == '{' && s[i] == '$')
}

// modify applies the modifier after a colon.
func (r *eventReader) modify(text string) (string, bool) {
	r.wrong = r.i
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
	case 'x':
		words := strings.Fields(text)
		for i, w := range words {
			words[i] = singleQuote(w)
		}
		text = strings.Join(words, " ")
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
