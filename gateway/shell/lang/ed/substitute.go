package ed

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pgbox/pgbox/gateway/shell/text/regex"
)

type substitution struct {
	global bool
	nth    int
	print  string
}

// substitute is s: s/re/replacement/flags, or a repetition of the last one.
func (e *Editor) substitute() error {
	delim := byte(0)
	if e.cmd != "" {
		delim = e.cmd[0]
	}
	s := e.subst
	var re *regex.Regexp
	switch {
	case delim == 0 || strings.IndexByte("rgp0123456789ln", delim) >= 0:
		if !e.hasSubst {
			return failure("No previous substitution")
		}
		re = e.last
		for e.cmd != "" && strings.IndexByte("rgp0123456789", e.cmd[0]) >= 0 {
			switch c := e.cmd[0]; {
			case c == 'r':
				e.cmd = e.cmd[1:]
			case c == 'g':
				s.global = !s.global
				e.cmd = e.cmd[1:]
			case c == 'p':
				if s.print == "" {
					s.print = "p"
				} else {
					s.print = ""
				}
				e.cmd = e.cmd[1:]
			default:
				d := digits(e.cmd)
				s.nth, _ = strconv.Atoi(e.cmd[:d])
				e.cmd = e.cmd[d:]
			}
		}
	case delim == ' ' || delim == '\n':
		return failure("Invalid pattern delimiter")
	default:
		src, rest, closed := delimited(e.cmd[1:], delim)
		if delim != '/' {
			src = strings.ReplaceAll(src, "\\"+string(delim), string(delim))
		}
		if !closed {
			return failure("Missing pattern delimiter")
		}
		var err error
		if re, err = e.compile(src); err != nil {
			return err
		}
		text, rest, err := e.replacement(rest, delim)
		if err != nil {
			return err
		}
		if text != "%" {
			e.replace = text
		}
		s = substitution{nth: 1}
		if rest == "\x00" { // the delimiter was left out: the result is printed
			s.print, rest = "p", ""
		}
		e.cmd = rest
	flags:
		for e.cmd != "" {
			switch c := e.cmd[0]; {
			case c == 'g':
				s.global = true
			case c == 'i' || c == 'I':
				folded, err := regex.Compile(src, regex.Options{Extended: e.Extended, IgnoreCase: true, Tick: e.p.Tick})
				if err != nil {
					return failure(err.Error())
				}
				re, e.last = folded, folded
			case digits(e.cmd) > 0:
				d := digits(e.cmd)
				s.nth, _ = strconv.Atoi(e.cmd[:d])
				if s.nth == 0 {
					return errBadSuffix
				}
				e.cmd = e.cmd[d:]
				continue
			case strings.IndexByte("lnp", c) >= 0:
				s.print += string(c)
			default:
				break flags
			}
			e.cmd = e.cmd[1:]
		}
	}
	if err := e.need(e.cur, e.cur); err != nil {
		return err
	}
	e.printing = ""
	if err := e.suffix(); err != nil {
		return err
	}
	if s.print != "" {
		e.printing = s.print
	}
	e.subst, e.hasSubst = s, true
	saved := false
	last := 0
	for n := e.first; n <= e.second; n++ {
		e.p.Tick(1)
		out, ok := e.replaceIn(re, e.lines[n].text, s)
		if ok && out == endless {
			return failure("Infinite substitution loop")
		}
		if !ok {
			continue
		}
		if !saved {
			e.save()
			e.lines = slices.Clone(e.lines)
			saved = true
		}
		parts := strings.Split(out, "\n")
		wanted := e.lines[n].marked
		e.lines[n] = &textLine{text: parts[0], marked: wanted}
		e.p.Hold(len(out) + 48)
		e.modified = true
		last = n
		if len(parts) > 1 {
			e.insert(n, parts[1:])
			n += len(parts) - 1
			e.second += len(parts) - 1
			last = n
		}
	}
	if last == 0 {
		if e.inList {
			e.printing = ""
			return nil
		}
		return errNoMatch
	}
	e.cur = last
	return nil
}

// replacement reads up to the delimiter; a backslash at the end of a line goes on with the next one. Without
// the delimiter rest is a NUL.
func (e *Editor) replacement(s string, delim byte) (text, rest string, err error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == delim:
			return b.String(), s[i+1:], nil
		case s[i] == '\\' && i+1 < len(s):
			if s[i+1] != delim {
				b.WriteByte('\\')
			} else if delim == '&' {
				b.WriteByte('\\')
			}
			i++
			b.WriteByte(s[i])
		case s[i] == '\\':
			next, ok := e.input()
			if !ok {
				return "", "", errUnexpected
			}
			b.WriteString("\\\n")
			s, i = next, -1
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), "\x00", nil
}

// endless is the answer of replaceIn to an empty match where all are to be replaced, which ed refuses. No line holds a
// newline.
const endless = "\n\n"

func (e *Editor) replaceIn(re *regex.Regexp, line string, s substitution) (string, bool) {
	in := []byte(line)
	var out []byte
	at, count, done := 0, 0, false
	for at <= len(in) {
		e.p.Tick(1)
		loc := re.FindSubmatchIndex(in, at)
		if loc == nil {
			break
		}
		count++
		e.ask(out, loc[0]-at)
		out = append(out, in[at:loc[0]]...)
		if s.global && count >= s.nth || count == s.nth {
			done = true
			if s.global && loc[1] == at {
				return endless, true
			}
			out = e.expand(out, in, loc)
		} else {
			out = append(out, in[loc[0]:loc[1]]...)
		}
		at = loc[1]
		if loc[0] == loc[1] {
			if at >= len(in) {
				at = len(in) + 1
				break
			}
			_, w := utf8.DecodeRune(in[at:])
			out = append(out, in[at:at+w]...)
			at += w
		}
		if done && !s.global {
			break
		}
	}
	if at < len(in) {
		out = append(out, in[at:]...)
	}
	return string(out), done
}

// ask is for before n bytes are appended to a line: the copies may be all that memory can hold.
func (e *Editor) ask(line []byte, n int) {
	if n > 1<<10 {
		e.p.Tick(1 + n>>10)
	}
	if need := len(line) + n; need > 1<<20 && need > cap(line) {
		e.p.Hold(4 * need)
		e.p.Release(4 * need)
	}
}

func (e *Editor) expand(out, in []byte, loc []int) []byte {
	for i := 0; i < len(e.replace); i++ {
		c := e.replace[i]
		switch {
		case c == '&':
			e.ask(out, loc[1]-loc[0])
			out = append(out, in[loc[0]:loc[1]]...)
		case c == '\\' && i+1 < len(e.replace):
			i++
			c = e.replace[i]
			if c >= '1' && c <= '9' {
				if k := 2 * int(c-'0'); k+1 < len(loc) && loc[k] >= 0 {
					e.ask(out, loc[k+1]-loc[k])
					out = append(out, in[loc[k]:loc[k+1]]...)
				}
				continue
			}
			out = append(out, c)
		default:
			out = append(out, c)
		}
	}
	return out
}
