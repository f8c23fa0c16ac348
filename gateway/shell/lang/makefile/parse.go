package makefile

import (
	"strings"
)

// lines are the lines of a makefile.
type lines struct {
	text []string
	next int
	line int // number of the first
}

// read gives the next logical line: backslash-newlines are still in it.
func (l *lines) read() (text string, line int, ok bool) {
	if l.next >= len(l.text) {
		return "", 0, false
	}
	line = l.line + l.next
	text = l.text[l.next]
	l.next++
	first := l.next - 1
	for continues(l.text[l.next-1]) && l.next < len(l.text) {
		l.next++
	}
	if l.next > first+1 {
		text = strings.Join(l.text[first:l.next], "\n")
	}
	return text, line, true
}

// continues reports whether a line ends in an odd number of backslashes.
func continues(s string) bool {
	n := 0
	for n < len(s) && s[len(s)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// collapse makes one line of continued ones: a backslash-newline and the white space around it are one space.
func collapse(s string) string {
	if !strings.Contains(s, "\\\n") {
		return s
	}
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '\n')
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		n := 0
		for n < i && s[i-1-n] == '\\' {
			n++
		}
		head := s[:i-n]
		if n%2 == 0 { // no continuation
			b.WriteString(head + strings.Repeat("\\", n/2) + "\n")
			s = s[i+1:]
			continue
		}
		head += strings.Repeat("\\", n/2)
		if n/2 == 0 {
			head = strings.TrimRight(head, " \t")
		}
		b.WriteString(head + " ")
		s = strings.TrimLeft(s[i+1:], " \t")
	}
}

// uncomment cuts a comment off. A # after a backslash stays, without the backslash.
func uncomment(s string) string {
	if strings.IndexByte(s, '#') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' && s[i] != '#' {
			b.WriteByte(s[i])
			continue
		}
		n := 0
		for i+n < len(s) && s[i+n] == '\\' {
			n++
		}
		if i+n == len(s) || s[i+n] != '#' {
			b.WriteString(s[i : i+n])
			i += n - 1
			continue
		}
		b.WriteString(s[i : i+n/2])
		if n%2 == 0 {
			break
		}
		b.WriteByte('#')
		i += n
	}
	return b.String()
}

// findUnquoted finds the first of the characters that no backslash stands before, and that is not within a reference of
// a variable.
func findUnquoted(s, chars string) int {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '$' && chars != "#":
			i += referenceLength(s[i:]) - 1
		case strings.IndexByte(chars, s[i]) >= 0:
			n := 0
			for n < i && s[i-1-n] == '\\' {
				n++
			}
			if n%2 == 0 {
				return i
			}
		}
	}
	return -1
}

// referenceLength is the length of the variable reference that s begins with.
func referenceLength(s string) int {
	if len(s) < 2 {
		return len(s)
	}
	open := s[1]
	if open != '(' && open != '{' {
		return 2
	}
	if n := matching(s[1:]); n > 0 {
		return 1 + n
	}
	return len(s)
}

// matching is the length of the parenthesised text that s begins with, 0 when the end is missing.
func matching(s string) int {
	open, closing := s[0], byte(')')
	if open == '{' {
		closing = '}'
	}
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case open:
			depth++
		case closing:
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

func words(s string) []string {
	return strings.FieldsFunc(s, func(c rune) bool { return isBlank(byte(c)) && c < 128 })
}

func isBlank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func trim(s string) string { return strings.Trim(s, " \t\n\v\f\r") }

func trimLeft(s string) string { return strings.TrimLeft(s, " \t\n\v\f\r") }

// firstWord splits the first word off.
func firstWord(s string) (word, rest string) {
	s = trimLeft(s)
	i := strings.IndexAny(s, " \t\n\v\f\r")
	if i < 0 {
		return s, ""
	}
	return s[:i], trimLeft(s[i:])
}

// pending is a rule whose recipe may still follow.
type pending struct {
	at       position
	targets  []string
	deps     string // not parsed yet
	pattern  string // of a static pattern rule
	static   bool
	double   bool
	grouped  bool
	recipe   []recipeLine
	recipeAt position
	has      bool // a recipe, be it empty
}

// branch is one level of conditionals.
type branch struct {
	skipping bool // this part
	taken    bool // some part was, or the whole is ignored
	seenElse bool
}

// reader reads one makefile.
type reader struct {
	m       *Make
	in      lines
	file    string
	rule    *pending
	conds   []branch
	ignored bool // the rule that recipe lines belong to was none
}

// read reads text as a makefile.
func (m *Make) read(text, file string, line int) {
	text = strings.TrimPrefix(text, "\ufeff")
	if strings.Contains(text, "\r\n") {
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	r := &reader{m: m, file: file, in: lines{line: line}}
	if text != "" {
		r.in.text = strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	}
	r.run()
}

func (r *reader) skipping() bool {
	return len(r.conds) > 0 && r.conds[len(r.conds)-1].skipping
}

func (r *reader) run() {
	m := r.m
	skippedDefine := 0
	for {
		raw, line, ok := r.in.read()
		if !ok {
			break
		}
		m.p.Tick(1 + len(raw)>>6)
		m.at = position{r.file, line}
		if raw == "" {
			continue
		}
		prefix := byte('\t')
		if v := m.global.vars[".RECIPEPREFIX"]; v != nil && v.value != "" && !m.builtin {
			prefix = v.value[0]
		}
		if raw[0] == prefix {
			if r.ignored {
				continue
			}
			if r.rule != nil {
				if r.skipping() {
					continue
				}
				if len(r.rule.recipe) == 0 {
					r.rule.recipeAt = m.at
				}
				r.rule.has = true
				r.rule.recipe = append(r.rule.recipe, recipeLine{strings.ReplaceAll(raw[1:], "\n"+string(prefix), "\n"), line})
				continue
			}
		}
		text := trimLeft(uncomment(collapse(raw)))
		if text == "" {
			continue
		}
		if skippedDefine > 0 {
			switch w, _ := firstWord(text); w {
			case "endef":
				skippedDefine--
			case "define":
				skippedDefine++
			}
			continue
		}
		if a, ok := parseAssignment(text, false); ok {
			if r.skipping() {
				if a.define {
					skippedDefine++
				}
				continue
			}
			r.flush()
			r.ignored = false
			r.assign(a)
			continue
		}
		word, rest := firstWord(text)
		if r.conditional(word, rest) {
			continue
		}
		if word == "endef" && !r.skipping() {
			m.die(m.at, "extraneous 'endef'")
		}
		if r.skipping() {
			continue
		}
		switch word {
		case "export", "unexport":
			r.flush()
			r.export(word == "export", rest)
			continue
		case "vpath":
			r.flush()
			m.addVpath(m.expand(rest))
			continue
		case "include", "-include", "sinclude":
			r.flush()
			r.include(m.expand(rest), word != "include")
			continue
		}
		if raw[0] == prefix {
			m.die(m.at, "recipe commences before first target")
		}
		r.parseRule(raw, text)
	}
	r.flush()
	if len(r.conds) > 0 {
		m.die(position{r.file, r.in.line + len(r.in.text)}, "missing 'endif'")
	}
}

// assignment is a line that sets a variable.
type assignment struct {
	name, op, value                     string
	override, export, private, undefine bool
	define                              bool
	text                                string // after define or undefine
}

func parseAssignment(s string, target bool) (assignment, bool) {
	var a assignment
	s = trimLeft(s)
	for {
		if name, op, value, ok := splitAssignment(s); ok {
			a.name, a.op, a.value = name, op, value
			return a, true
		}
		word, rest := firstWord(s)
		switch word {
		case "export":
			a.export = true
		case "override":
			a.override = true
		case "private":
			a.private = true
		case "define", "undefine":
			if target {
				return a, false
			}
			a.define, a.undefine, a.text = word == "define", word == "undefine", rest
			return a, true
		default:
			return a, false
		}
		if rest == "" {
			return a, false
		}
		s = rest
	}
}

// splitAssignment splits NAME OP VALUE.
func splitAssignment(s string) (name, op, value string, ok bool) {
	spaced := false
	end := -1
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '#':
			return
		case c == '$':
			if spaced {
				return
			}
			i += referenceLength(s[i:]) - 1
			continue
		case isBlank(c):
			if !spaced {
				spaced, end = true, i
			}
			continue
		}
		if !spaced {
			end = i
		}
		rest := s[i:]
		for _, o := range []string{"=", ":=", "::=", "+=", "?=", "!="} {
			if strings.HasPrefix(rest, o) {
				return s[:end], strings.TrimPrefix(o, "::"[:max(0, len(o)-2)]), trimLeft(rest[len(o):]), true
			}
		}
		if c == ':' || spaced {
			return
		}
	}
	return
}

func (r *reader) assign(a assignment) {
	m := r.m
	origin := originFile
	if a.override {
		origin = originOverride
	}
	switch {
	case a.undefine:
		name := trim(m.expand(a.text))
		if name == "" {
			m.die(m.at, "empty variable name")
		}
		if v := m.global.vars[name]; v != nil && (v.origin < originCommand || a.override) {
			delete(m.global.vars, name)
		}
		return
	case a.define:
		r.define(a, origin)
		return
	}
	name := trim(m.expand(a.name))
	if name == "" {
		m.die(m.at, "empty variable name")
	}
	v := m.assign(m.global, name, a.op, a.value, origin)
	if a.export {
		v.export = exported
	}
	v.private = v.private || a.private
}

// define reads a variable of several lines, up to endef.
func (r *reader) define(a assignment, origin origin) {
	m := r.m
	at := m.at
	head, op := trim(a.text), "="
	if name, o, extra, ok := splitAssignment(head); ok {
		head, op = name, o
		if extra != "" {
			m.complain(at, "extraneous text after 'define' directive")
		}
	}
	name := trim(m.expand(head))
	if name == "" {
		m.die(at, "empty variable name")
	}
	var body strings.Builder
	for depth := 1; ; {
		raw, _, ok := r.in.read()
		if !ok {
			m.die(at, "missing 'endef', unterminated 'define'")
		}
		m.p.Tick(1)
		if !strings.HasPrefix(raw, "\t") {
			w, rest := firstWord(uncomment(collapse(raw)))
			if b, ok := parseAssignment(collapse(raw), false); ok && b.define {
				depth++
			} else if w == "endef" {
				if depth--; depth == 0 {
					if rest != "" {
						m.complain(position{r.file, r.in.line + r.in.next - 1}, "extraneous text after 'endef' directive")
					}
					break
				}
			}
		}
		if body.Len() > 0 {
			body.WriteByte('\n')
		} else if body.Cap() > 0 {
			body.WriteByte('\n')
		}
		body.Grow(len(raw) + 1)
		body.WriteString(raw)
	}
	v := m.assign(m.global, name, op, body.String(), origin)
	if a.export {
		v.export = exported
	}
}

func (r *reader) export(on bool, rest string) {
	m := r.m
	state := notExported
	if on {
		state = exported
	}
	if rest == "" {
		m.exportAll = on
		return
	}
	for _, name := range m.words(m.expand(rest)) {
		v := m.global.vars[name]
		if v == nil {
			v = &variable{name: name, origin: originFile, undefined: true, at: m.at}
			m.global.vars[name] = v
		}
		v.export = state
	}
}

func (r *reader) include(list string, optional bool) {
	m := r.m
	at := m.at
	for _, pat := range m.words(list) {
		for _, name := range m.globName(pat) {
			m.readFile(name, optional, at)
			m.at = at
		}
	}
}

// conditional handles ifeq and relatives; false when the line is none.
func (r *reader) conditional(word, rest string) bool {
	m := r.m
	switch word {
	case "ifdef", "ifndef", "ifeq", "ifneq":
		r.conds = append(r.conds, r.test(word, rest))
	case "else":
		if len(r.conds) == 0 {
			m.die(m.at, "extraneous 'else'")
		}
		c := &r.conds[len(r.conds)-1]
		if c.seenElse {
			m.die(m.at, "only one 'else' per conditional")
		}
		w, more := firstWord(rest)
		switch w {
		case "":
			c.seenElse = true
			c.skipping, c.taken = c.taken, true
		case "ifdef", "ifndef", "ifeq", "ifneq":
			if c.taken {
				c.skipping = true
				break
			}
			outer := r.conds
			r.conds = r.conds[:len(r.conds)-1]
			b := r.test(w, more)
			r.conds = outer
			outer[len(outer)-1] = b
		default:
			m.complain(m.at, "extraneous text after 'else' directive")
			c.seenElse = true
			c.skipping, c.taken = c.taken, true
		}
	case "endif":
		if rest != "" {
			m.complain(m.at, "extraneous text after 'endif' directive")
		}
		if len(r.conds) == 0 {
			m.die(m.at, "extraneous 'endif'")
		}
		r.conds = r.conds[:len(r.conds)-1]
	default:
		return false
	}
	return true
}

// test evaluates a condition.
func (r *reader) test(word, rest string) branch {
	m := r.m
	if r.skipping() {
		return branch{skipping: true, taken: true}
	}
	const invalid = "invalid syntax in conditional"
	hold := false
	switch word {
	case "ifdef", "ifndef":
		name := trim(m.expand(rest))
		if name == "" || strings.ContainsAny(name, " \t") {
			m.die(m.at, invalid)
		}
		v := m.lookup(name)
		hold = v != nil && v.value != "" == (word == "ifdef")
		if v == nil {
			hold = word == "ifndef"
		}
	default:
		a, b, ok := comparands(rest)
		if !ok {
			m.die(m.at, invalid)
		}
		hold = m.expand(a) == m.expand(b) == (word == "ifeq")
	}
	return branch{skipping: !hold, taken: hold}
}

// comparands are (a,b) or "a" "b".
func comparands(s string) (a, b string, ok bool) {
	s = trim(s)
	if s == "" {
		return
	}
	if s[0] == '(' {
		depth := 0
		for i := 1; i < len(s); i++ {
			switch s[i] {
			case '(':
				depth++
			case ')':
				depth--
			case ',':
				if depth > 0 {
					continue
				}
				a = strings.TrimRight(s[1:i], " \t")
				rest := trimLeft(s[i+1:])
				for j, depth := 0, 0; j < len(rest); j++ {
					switch rest[j] {
					case '(':
						depth++
					case ')':
						if depth == 0 {
							return a, rest[:j], true
						}
						depth--
					}
				}
				return
			}
		}
		return
	}
	quoted := func() (string, bool) {
		if s == "" || s[0] != '"' && s[0] != '\'' {
			return "", false
		}
		i := strings.IndexByte(s[1:], s[0])
		if i < 0 {
			return "", false
		}
		v := s[1 : i+1]
		s = trimLeft(s[i+2:])
		return v, true
	}
	if a, ok = quoted(); !ok {
		return
	}
	b, ok = quoted()
	return a, b, ok
}

// parseRule reads a line with targets. raw is the line as it stands, text is without comments.
func (r *reader) parseRule(raw, text string) {
	m := r.m
	r.flush()
	r.ignored = false
	p := &pending{at: m.at}
	// A recipe may follow a semicolon, in which a # is no comment.
	line := trimLeft(collapse(raw))
	if i := findUnquoted(line, ";#"); i >= 0 && line[i] == ';' {
		p.has = true
		p.recipeAt = m.at
		// The recipe keeps its backslash-newlines.
		cut := findUnquoted(raw, ";#")
		p.recipe = []recipeLine{{trimLeft(raw[cut+1:]), m.at.line}}
		text = line[:i]
	}
	// The targets are expanded first: the colon may come out of a variable.
	left, right, colon := m.splitRule(text)
	if colon == "" {
		if trim(left) == "" {
			return
		}
		hint := ""
		if strings.HasPrefix(raw, "        ") {
			hint = " (did you mean TAB instead of 8 spaces?)"
		}
		m.die(m.at, "missing separator%s", hint)
	}
	p.double = colon == "::"
	if strings.HasSuffix(left, "&") {
		p.grouped, left = true, strings.TrimSuffix(left, "&")
	}
	for _, w := range m.words(left) {
		p.targets = append(p.targets, m.globName(w)...)
	}
	for i, t := range p.targets {
		p.targets[i] = cleanName(unescapeName(t))
	}
	if len(p.targets) == 0 {
		if trim(left) == "" && trim(right) != "" || p.has {
			m.die(m.at, "missing target pattern")
		}
		r.ignored = true
		return
	}
	if a, ok := parseAssignment(right, true); ok && !p.has {
		r.targetVariable(p.targets, a)
		r.ignored = true
		return
	}
	if p.has {
		// What looks like a recipe may be part of the value of a variable of the target.
		if _, rest, c := m.splitRule(uncomment(line)); c != "" {
			if a, ok := parseAssignment(rest, true); ok {
				r.targetVariable(p.targets, a)
				r.ignored = true
				return
			}
		}
	}
	expanded := m.expand(right)
	p.deps = expanded
	if i := findUnquoted(expanded, ";"); i >= 0 && !p.has {
		p.has, p.recipeAt = true, m.at
		p.recipe = []recipeLine{{trimLeft(expanded[i+1:]), m.at.line}}
		expanded = expanded[:i]
		p.deps = expanded
	}
	// target: pattern: prerequisites
	if i := findColon(expanded); i >= 0 {
		p.static = true
		pats := m.words(expanded[:i])
		rest := strings.TrimPrefix(expanded[i+1:], ":")
		if len(pats) == 0 {
			m.die(m.at, "missing target pattern")
		}
		if len(pats) > 1 {
			m.die(m.at, "multiple target patterns")
		}
		if !strings.Contains(pats[0], "%") {
			m.die(m.at, "target pattern contains no '%%'")
		}
		p.pattern, p.deps = cleanName(pats[0]), rest
	}
	r.rule = p
}

// findColon finds a colon that is not escaped.
func findColon(s string) int { return findUnquoted(s, ":") }

// unescapeName removes the backslashes before what is special in names.
func unescapeName(s string) string {
	if !strings.Contains(s, "\\") {
		return s
	}
	return strings.NewReplacer("\\:", ":", "\\#", "#", "\\%", "%", "\\ ", " ").Replace(s)
}

// splitRule expands the part before the colon. What follows it is not expanded, unless the colon came out of a
// variable.
func (m *Make) splitRule(text string) (left, right, colon string) {
	i := findColon(text)
	if i >= 0 {
		left = m.expand(text[:i])
		if j := findUnquoted(left, ":"); j >= 0 {
			text = left + text[i:]
			i, left = j, left[:j]
		}
	} else {
		left = m.expand(text)
		if i = findUnquoted(left, ":"); i < 0 {
			return left, "", ""
		}
		text, left = left, left[:i]
	}
	right, colon = text[i+1:], ":"
	if strings.HasPrefix(right, ":") && !strings.HasPrefix(right, ":=") {
		right, colon = right[1:], "::"
	}
	return left, right, colon
}

func (r *reader) targetVariable(targets []string, a assignment) {
	m := r.m
	name := trim(m.expand(a.name))
	if name == "" {
		m.die(m.at, "empty variable name")
	}
	origin := originFile
	if a.override {
		origin = originOverride
	}
	for _, t := range targets {
		if strings.Contains(t, "%") {
			value := a.value
			if a.op == ":=" {
				value = m.expand(value)
			}
			m.patVars = append(m.patVars, &patternVariable{pattern: t, name: name, op: a.op, value: value, origin: origin,
				export: a.export, at: m.at})
			continue
		}
		f := m.file(t)
		v := m.assignTarget(m.ownScope(f), name, a.op, a.value, origin)
		if a.export {
			v.export = exported
		}
		v.private = a.private
	}
}

// flush records the rule that was read.
func (r *reader) flush() {
	if r.rule != nil {
		p := r.rule
		r.rule = nil
		r.m.record(p)
	}
}
