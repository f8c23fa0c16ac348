package sqlite

import "strings"

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

// complete reports whether sql ends in the semicolon of a statement, which inside of CREATE TRIGGER is the one after
// END.
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
