package shell

import "unicode/utf8"

// bytes reports whether every byte is a character, as in the C locale. Without any setting the sandbox is UTF-8.
func (sh *Shell) bytes() bool {
	if sh.localeChanged {
		sh.localeChanged, sh.byteLocale = false, false
		for _, name := range [...]string{"LC_ALL", "LC_CTYPE", "LANG"} {
			if v := sh.str(name); v != "" {
				sh.byteLocale = v == "C" || v == "POSIX"
				break
			}
		}
	}
	return sh.byteLocale
}

// localeVar is told that a variable has a new value.
func (sh *Shell) localeVar(name string) {
	switch name {
	case "LC_ALL", "LC_CTYPE", "LANG":
		sh.localeChanged, sh.ifsChanged = true, true
	}
}

// replaced is told that another variable, or none, has the name now.
func (sh *Shell) replaced(name string) {
	switch name {
	case "IFS":
		sh.ifsChanged = true
	case "PATH":
		sh.hashed = nil
	default:
		sh.localeVar(name)
	}
}

// length is how many characters s has.
func (sh *Shell) length(s string) int {
	if sh.bytes() {
		return len(s)
	}
	return utf8.RuneCountInString(s)
}

// charLen is how many bytes the first character of s has.
func (sh *Shell) charLen(s string) int {
	if sh.bytes() {
		return min(len(s), 1)
	}
	_, w := utf8.DecodeRuneInString(s)
	return w
}

// characters are those of s from one on to another, counted from 0.
func (sh *Shell) characters(s string, from, to int) string {
	if sh.bytes() {
		return s[from:to]
	}
	return runes(s, from, to)
}

// runes cuts s by character positions.
func runes(s string, from, to int) string {
	i, start := 0, -1
	for k := range s {
		if i == from {
			start = k
		}
		if i == to {
			return s[max(start, 0):k]
		}
		i++
	}
	if start < 0 {
		return ""
	}
	return s[start:]
}
