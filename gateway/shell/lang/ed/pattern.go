package ed

import (
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/text/regex"
)

// pattern reads /…/; an empty one is the last one again.
func (e *Editor) pattern(delim byte) (*regex.Regexp, error) {
	src, rest, _ := delimited(e.cmd[1:], delim)
	e.cmd = rest
	return e.compile(src)
}

// delimited cuts s at an unescaped delimiter that is not in brackets.
func delimited(s string, delim byte) (src, rest string, closed bool) {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == delim:
			return s[:i], s[i+1:], true
		case s[i] == '\\' && i+1 < len(s):
			i++
		case s[i] == '[':
			if end := brackets(s[i:]); end > 0 {
				i += end
			}
		}
	}
	return s, "", false
}

// brackets is the place of the ] that ends a bracket expression, 0 if none does.
func brackets(s string) int {
	i := 1
	if i < len(s) && s[i] == '^' {
		i++
	}
	if i < len(s) && s[i] == ']' {
		i++
	}
	for ; i < len(s); i++ {
		if s[i] == '[' && i+1 < len(s) && strings.IndexByte(".:=", s[i+1]) >= 0 {
			if end := strings.Index(s[i+2:], string(s[i+1])+"]"); end >= 0 {
				i += end + 3
				continue
			}
		}
		if s[i] == ']' {
			return i
		}
	}
	return 0
}

func (e *Editor) compile(src string) (*regex.Regexp, error) {
	if src == "" {
		if e.last == nil {
			return nil, errNoPrevious
		}
		return e.last, nil
	}
	re, err := regex.Compile(src, regex.Options{Extended: e.Extended, Tick: e.p.Tick})
	if err != nil {
		return nil, failure(err.Error())
	}
	e.last = re
	return re, nil
}

// search looks for a line around the buffer, -1 if there is none.
func (e *Editor) search(re *regex.Regexp, forward bool) int {
	n := e.cur
	for range e.lines {
		e.p.Tick(1)
		if forward {
			n++
		} else {
			n--
		}
		if n > e.size() {
			n = 0
		} else if n < 0 {
			n = e.size()
		}
		if n > 0 && re.Match([]byte(e.lines[n].text)) {
			return n
		}
	}
	return -1
}
