package sqlite

import (
	"context"
	"net/url"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/pgbox/pgbox/gateway/shell/proc"
)

// uri is the name under which SQLite opens a file of the sandbox; ok is false when the name asks for another VFS.
func (s *Shell) uri(name, mode string) (string, bool) {
	if !allowed(name) {
		return "", false
	}
	if strings.HasPrefix(name, "file:") {
		name, fragment, _ := strings.Cut(name, "#")
		_ = fragment
		sep := "?"
		if strings.Contains(name, "?") {
			sep = "&"
		}
		return name + sep + "vfs=" + s.tree.name, true
	}
	switch name {
	case "", ":memory:":
		return "file:" + name + "?vfs=" + s.tree.name, true
	}
	escaped := (&url.URL{Path: s.p.Abs(name)}).EscapedPath()
	return "file:" + escaped + "?mode=" + mode + "&vfs=" + s.tree.name, true
}

// allowed reports whether SQLite may see a file name: not when it is a URI that names a VFS.
func allowed(name string) bool {
	if len(name) < 5 || !strings.EqualFold(name[:5], "file:") {
		return true
	}
	// Whatever the parameters are called once their escapes are resolved.
	plain, err := url.PathUnescape(name)
	return err == nil && !strings.Contains(strings.ToLower(plain), "vfs")
}

// authorize refuses to attach a database whose name cannot be seen, or must not be used.
func (s *Shell) authorize(action sqlite3.AuthorizerActionCode, name, _, _, _ string) sqlite3.AuthorizerReturnCode {
	if action == sqlite3.AUTH_ATTACH && (!allowed(name) || name == "" && s.hidden) {
		return sqlite3.AUTH_DENY
	}
	return sqlite3.AUTH_OK
}

// guard looks at a statement before it is prepared. The authorizer does not see a name that an expression computes, so
// ATTACH and VACUUM INTO take a literal only.
func (s *Shell) guard(sql string) (problem string) {
	s.hidden = false
	words := tokens(sql, 64)
	for len(words) > 0 && (strings.EqualFold(words[0], "explain") || strings.EqualFold(words[0], "query") || strings.EqualFold(words[0], "plan")) {
		words = words[1:]
	}
	if len(words) == 0 {
		return ""
	}
	switch strings.ToLower(words[0]) {
	case "attach":
		words = words[1:]
		if len(words) > 0 && strings.EqualFold(words[0], "database") {
			words = words[1:]
		}
		if len(words) < 2 || !strings.EqualFold(words[1], "as") || !literal(words[0]) {
			s.hidden = true
			return "not authorized"
		}
		return refusal(words[0])
	case "vacuum":
		for i, w := range words {
			if strings.EqualFold(w, "into") {
				if i+2 != len(words) && !(i+3 == len(words) && words[i+2] == ";") || !literal(words[i+1]) {
					return "not authorized"
				}
				return refusal(words[i+1])
			}
		}
		return ""
	}
	return ""
}

func refusal(token string) string {
	if !allowed(unquoted(token)) {
		return "not authorized"
	}
	return ""
}

// literal reports whether a token is a string or a plain name, whose value is itself.
func literal(token string) bool {
	c := token[0]
	return c == '\'' || c == '"' || c == '`' || c == '[' || c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

func unquoted(token string) string {
	switch c := token[0]; c {
	case '\'', '"', '`':
		return strings.ReplaceAll(strings.TrimSuffix(token[1:], string(c)), string(c)+string(c), string(c))
	case '[':
		return strings.TrimSuffix(token[1:], "]")
	}
	return token
}

// tokens returns the first tokens of an SQL text.
func tokens(sql string, limit int) []string {
	var out []string
	for i := 0; i < len(sql) && len(out) < limit; {
		n := tokenLen(sql[i:])
		t := sql[i : i+n]
		i += n
		if !blank(t) {
			out = append(out, t)
		}
	}
	return out
}

// blank reports whether a token is white space or a comment.
func blank(t string) bool {
	return strings.HasPrefix(t, "--") || strings.HasPrefix(t, "/*") || strings.TrimLeft(t, " \t\n\r\f") == ""
}

// tokenLen is the length of the token that s begins with.
func tokenLen(s string) int {
	until := func(from int, end string) int {
		if i := strings.Index(s[from:], end); i >= 0 {
			return from + i + len(end)
		}
		return len(s)
	}
	switch c := s[0]; {
	case strings.HasPrefix(s, "--"):
		return until(2, "\n")
	case strings.HasPrefix(s, "/*"):
		return until(2, "*/")
	case c == '\'' || c == '"' || c == '`':
		for i := 1; i < len(s); i++ {
			if s[i] == c {
				if i+1 == len(s) || s[i+1] != c {
					return i + 1
				}
				i++
			}
		}
		return len(s)
	case c == '[':
		return until(1, "]")
	case wordByte(c):
		n := 1
		for n < len(s) && wordByte(s[n]) {
			n++
		}
		return n
	case strings.IndexByte(" \t\n\r\f", c) >= 0:
		return len(s) - len(strings.TrimLeft(s, " \t\n\r\f"))
	}
	return 1
}

func wordByte(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// complete reports whether sql ends in the semicolon of a statement, which inside of CREATE TRIGGER is the one after END.
func complete(sql string) bool {
	done, trigger, begin := true, false, []string{}
	last := ""
	for i := 0; i < len(sql); {
		n := tokenLen(sql[i:])
		t := sql[i : i+n]
		if strings.HasPrefix(t, "/*") && (n < 4 || !strings.HasSuffix(t, "*/")) {
			return false
		}
		i += n
		if blank(t) {
			continue
		}
		word := strings.ToLower(t)
		if t == ";" {
			if trigger && last != "end" {
				continue
			}
			done, trigger, begin, last = true, false, begin[:0], ""
			continue
		}
		done = false
		if len(begin) < 5 {
			begin = append(begin, word)
			if word == "trigger" && (begin[0] == "create" || begin[0] == "explain") {
				trigger = true
			}
		}
		last = word
		if strings.IndexByte("'\"`[", t[0]) >= 0 && !closed(t) {
			return false
		}
	}
	return done
}

func closed(t string) bool {
	end := t[0]
	if end == '[' {
		end = ']'
	}
	return len(t) > 1 && t[len(t)-1] == end
}

// counted is a context whose Err, which SQLite asks for every thousand steps of its machine, counts them against the budget.
type counted struct {
	context.Context
	p *proc.Process
}

func (c counted) Err() (err error) {
	// A panic must not pass through SQLite: the statement is interrupted, and the command dies when it has ended.
	defer func() {
		if d, ok := recover().(proc.Death); ok {
			err = d
		}
	}()
	c.p.Tick(50)
	return c.Context.Err()
}

// survive dies when the exec is over.
func (s *Shell) survive() {
	if err := s.p.Budget.Err(); err != nil {
		panic(proc.Death{Status: 137, Killed: true, Cause: err})
	}
}
