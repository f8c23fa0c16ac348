package makefile

import "strings"

// large is the size from which texts count on their own while they are in use.
const large = 1 << 16

// memory is what a run holds against the limits of the exec.
type memory struct {
	kept int // variables, files and rules: until the end
	lent int // texts and lists that an expansion needs: until it ends
	deep int // expansions within each other
}

// keep counts n bytes that stay.
func (m *Make) keep(n int) {
	m.p.Hold(n)
	m.memory.kept += n
}

// lend counts n bytes that are needed until the expansion ends.
func (m *Make) lend(n int) {
	m.p.Hold(n)
	m.memory.lent += n
}

// takeBack forgets what was lent since lent was what it is given as.
func (m *Make) takeBack(since int) {
	m.p.Release(m.memory.lent - since)
	m.memory.lent = since
}

// releaseAll gives everything back.
func (m *Make) releaseAll() {
	m.p.Release(m.memory.kept + m.memory.lent)
	*m.memory = memory{}
}

// fit makes sure that a text of n bytes may be made, before it is.
func (m *Make) fit(n int) {
	if n < large {
		return
	}
	if int64(n) > m.p.Budget.Limits.ValueBytes {
		m.die(m.at, "virtual memory exhausted")
	}
	m.p.Tick(n >> 8)
	m.lend(n)
}

// text collects what a function or an expansion gives. What it holds counts as it grows.
type text struct {
	strings.Builder
	m       *Make
	counted int
}

func (t *text) add(s string) {
	if n := t.Len() + len(s); n > large && n-t.counted > max(large, t.counted/4) {
		t.m.fit(n)
		t.counted = n
	}
	t.WriteString(s)
}

// sep adds a space unless the text is empty so far.
func (t *text) sep(first bool) {
	if !first {
		t.WriteByte(' ')
	}
}

// words splits at white space.
func (m *Make) words(s string) []string {
	if len(s) < large {
		return words(s)
	}
	n := 0
	for from := 0; from < len(s); from += large {
		m.p.Tick(large >> 6)
		for i := from; i < min(from+large, len(s)); i++ {
			if !isBlank(s[i]) && (i == 0 || isBlank(s[i-1])) {
				n++
			}
		}
	}
	m.lend(16 * n)
	list := make([]string, 0, n)
	for s = trimLeft(s); s != ""; {
		i := 0
		for i < len(s) && !isBlank(s[i]) {
			i++
		}
		list = append(list, s[:i])
		m.p.Tick(1)
		s = trimLeft(s[i:])
	}
	return list
}
