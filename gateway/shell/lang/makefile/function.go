package makefile

import (
	"errors"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/text/pattern"
	"github.com/pgbox/pgbox/gateway/vfs"
)

func itoa(n int) string { return strconv.Itoa(n) }

// function is one of the functions: how many arguments it has (most 0: any number), and whether they are expanded
// before the call.
type function struct {
	least, most int
	lazy        bool
	call        func(m *Make, name string, args []string) string
}

var functions map[string]function

func init() {
	functions = map[string]function{
		"abspath":    {0, 1, false, fnAbspath},
		"addprefix":  {2, 2, false, fnAddAffix},
		"addsuffix":  {2, 2, false, fnAddAffix},
		"basename":   {0, 1, false, eachWord(func(w string) string { return strings.TrimSuffix(w, suffixOf(w)) })},
		"dir":        {0, 1, false, fnDir},
		"notdir":     {0, 1, false, fnNotdir},
		"subst":      {3, 3, false, fnSubst},
		"suffix":     {0, 1, false, fnSuffix},
		"filter":     {2, 2, false, fnFilter},
		"filter-out": {2, 2, false, fnFilter},
		"findstring": {2, 2, false, fnFindstring},
		"firstword":  {0, 1, false, fnFirstword},
		"flavor":     {0, 1, false, fnFlavor},
		"join":       {2, 2, false, fnJoin},
		"lastword":   {0, 1, false, fnLastword},
		"patsubst":   {3, 3, false, func(m *Make, _ string, a []string) string { return m.patsubst(a[0], a[1], a[2]) }},
		"realpath":   {0, 1, false, fnRealpath},
		"shell":      {0, 1, false, func(m *Make, _ string, a []string) string { return m.shellOutput(a[0]) }},
		"sort":       {0, 1, false, fnSort},
		"strip":      {0, 1, false, func(m *Make, _ string, a []string) string { return strings.Join(m.words(a[0]), " ") }},
		"wildcard":   {0, 1, false, fnWildcard},
		"word":       {2, 2, false, fnWord},
		"wordlist":   {3, 3, false, fnWordlist},
		"words":      {0, 1, false, func(m *Make, _ string, a []string) string { return itoa(len(m.words(a[0]))) }},
		"origin":     {0, 1, false, fnOrigin},
		"foreach":    {3, 3, true, fnForeach},
		"call":       {1, 0, false, fnCall},
		"info":       {0, 1, false, fnMessage},
		"error":      {0, 1, false, fnMessage},
		"warning":    {0, 1, false, fnMessage},
		"if":         {2, 3, true, fnIf},
		"or":         {1, 0, true, fnOr},
		"and":        {1, 0, true, fnAnd},
		"value":      {0, 1, false, func(m *Make, _ string, a []string) string { return m.value(a[0]) }},
		"eval":       {0, 1, false, fnEval},
		"file":       {1, 2, false, fnFile},
	}
}

// functionCall splits a reference that calls a function into the name and the text of the arguments.
func functionCall(body string) (name, args string, ok bool) {
	i := 0
	for i < len(body) && (body[i] >= 'a' && body[i] <= 'z' || body[i] == '-') {
		i++
	}
	if i == 0 || i < len(body) && !isBlank(body[i]) {
		return "", "", false
	}
	if _, ok = functions[body[:i]]; !ok || i == len(body) {
		return "", "", false
	}
	return body[:i], trimLeft(body[i:]), true
}

// call runs a function. open is the parenthesis of the reference.
func (m *Make) call(name, text string, open byte) string {
	f := functions[name]
	args := splitArguments(text, open, f.most)
	if text == "" && f.most == 1 {
		args = []string{""}
	}
	if len(args) < f.least || len(args) == 1 && args[0] == "" && f.least > 1 {
		m.die(m.where(), "insufficient number of arguments (%d) to function '%s'", len(args), name)
	}
	if !f.lazy {
		for i, a := range args {
			args[i] = m.expand(a)
		}
	}
	return f.call(m, name, args)
}

// splitArguments splits at commas outside of parentheses; the last of at most most arguments keeps its commas.
func splitArguments(s string, open byte, most int) []string {
	closing := byte(')')
	if open == '{' {
		closing = '}'
	}
	var out []string
	depth, from := 0, 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case open:
			depth++
		case closing:
			depth--
		case ',':
			if depth == 0 && (most == 0 || len(out)+1 < most) {
				out = append(out, s[from:i])
				from = i + 1
			}
		}
	}
	return append(out, s[from:])
}

func eachWord(f func(string) string) func(*Make, string, []string) string {
	return func(m *Make, _ string, a []string) string {
		list := m.words(a[0])
		m.p.Tick(len(list))
		for i, w := range list {
			list[i] = f(w)
		}
		return strings.Join(list, " ")
	}
}

var fnDir, fnNotdir = eachWord(dirOf), eachWord(baseName)

func dirOf(w string) string {
	if i := strings.LastIndexByte(w, '/'); i >= 0 {
		return w[:i+1]
	}
	return "./"
}

// suffixOf is what follows the last dot of the last component, with it.
func suffixOf(w string) string {
	i := strings.LastIndexByte(w, '.')
	if i < 0 || strings.IndexByte(w[i:], '/') >= 0 {
		return ""
	}
	return w[i:]
}

func fnSuffix(m *Make, _ string, a []string) string {
	var out []string
	for _, w := range m.words(a[0]) {
		if s := suffixOf(w); s != "" {
			out = append(out, s)
		}
	}
	return strings.Join(out, " ")
}

func fnAddAffix(m *Make, name string, a []string) string {
	list := m.words(a[1])
	m.p.Tick(len(list))
	m.fit(len(a[1]) + len(list)*len(a[0]))
	for i, w := range list {
		if name == "addprefix" {
			list[i] = a[0] + w
		} else {
			list[i] = w + a[0]
		}
	}
	return strings.Join(list, " ")
}

func fnSubst(m *Make, _ string, a []string) string {
	m.p.Tick(1 + len(a[2])>>8)
	if a[0] == "" {
		return a[2] + a[1]
	}
	if more := len(a[1]) - len(a[0]); more > 0 {
		m.fit(len(a[2]) + strings.Count(a[2], a[0])*more)
	}
	return strings.ReplaceAll(a[2], a[0], a[1])
}

// patsubst replaces in every word that matches from.
func (m *Make) patsubst(from, to, text string) string {
	p := parsePattern(from)
	repl := parsePattern(to)
	list := m.words(text)
	m.p.Tick(len(list))
	total := 0
	for i, w := range list {
		stem, ok := p.match(w)
		if !ok {
			continue
		}
		if total += len(to); total > large {
			m.fit(total)
			total = 0
		}
		if p.wild && repl.wild {
			list[i] = repl.prefix + stem + repl.suffix
		} else {
			list[i] = repl.text()
		}
	}
	return strings.Join(list, " ")
}

// stemPattern is text in which % stands for anything.
type stemPattern struct {
	prefix, suffix string
	wild           bool
}

func parsePattern(s string) stemPattern {
	if !strings.Contains(s, "%") {
		return stemPattern{prefix: s}
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			n := 0
			for i+n < len(s) && s[i+n] == '\\' {
				n++
			}
			if i+n < len(s) && s[i+n] == '%' {
				b.WriteString(strings.Repeat("\\", n/2))
				i += n
				if n%2 == 0 {
					return stemPattern{b.String(), s[i+1:], true}
				}
				b.WriteByte('%')
				continue
			}
			b.WriteString(s[i : i+n])
			i += n - 1
		case s[i] == '%':
			return stemPattern{b.String(), s[i+1:], true}
		default:
			b.WriteByte(s[i])
		}
	}
	return stemPattern{prefix: b.String()}
}

func (p stemPattern) text() string {
	if p.wild {
		return p.prefix + "%" + p.suffix
	}
	return p.prefix
}

func (p stemPattern) match(s string) (stem string, ok bool) {
	if !p.wild {
		return "", s == p.prefix
	}
	if len(s) < len(p.prefix)+len(p.suffix) || !strings.HasPrefix(s, p.prefix) || !strings.HasSuffix(s, p.suffix) {
		return "", false
	}
	return s[len(p.prefix) : len(s)-len(p.suffix)], true
}

// fill puts a stem in place of the first %.
func fill(s, stem string) string {
	p := parsePattern(s)
	if !p.wild {
		return p.prefix
	}
	return p.prefix + stem + p.suffix
}

func fnFilter(m *Make, name string, a []string) string {
	exact := map[string]bool{}
	var wild []stemPattern
	for _, w := range m.words(a[0]) {
		if p := parsePattern(w); p.wild {
			wild = append(wild, p)
		} else {
			exact[p.prefix] = true
		}
	}
	var out []string
	for _, w := range m.words(a[1]) {
		m.p.Tick(1 + len(wild))
		hit := exact[w] || slices.ContainsFunc(wild, func(p stemPattern) bool { _, ok := p.match(w); return ok })
		if hit == (name == "filter") {
			out = append(out, w)
		}
	}
	return strings.Join(out, " ")
}

func fnFindstring(_ *Make, _ string, a []string) string {
	if strings.Contains(a[1], a[0]) {
		return a[0]
	}
	return ""
}

func fnFirstword(_ *Make, _ string, a []string) string {
	w, _ := firstWord(a[0])
	return w
}

func fnLastword(m *Make, _ string, a []string) string {
	list := m.words(a[0])
	if len(list) == 0 {
		return ""
	}
	return list[len(list)-1]
}

func fnFlavor(m *Make, _ string, a []string) string {
	switch v := m.lookup(a[0]); {
	case v == nil:
		return "undefined"
	case v.recursive:
		return "recursive"
	}
	return "simple"
}

func fnOrigin(m *Make, _ string, a []string) string {
	v := m.lookup(a[0])
	if v == nil {
		return "undefined"
	}
	return originNames[v.origin]
}

func fnJoin(m *Make, _ string, a []string) string {
	x, y := m.words(a[0]), m.words(a[1])
	var out []string
	for i := range max(len(x), len(y)) {
		w := ""
		if i < len(x) {
			w = x[i]
		}
		if i < len(y) {
			w += y[i]
		}
		out = append(out, w)
	}
	return strings.Join(out, " ")
}

func fnSort(m *Make, _ string, a []string) string {
	list := m.words(a[0])
	m.p.Tick(1 + 8*len(list))
	sort.Strings(list)
	return strings.Join(slices.Compact(list), " ")
}

func (m *Make) number(s, name, which string) int {
	t := trim(s)
	if t == "" {
		m.die(m.where(), "non-numeric %s argument to '%s' function: '%s'", which, name, s)
	}
	for i := range len(t) {
		if t[i] < '0' || t[i] > '9' {
			m.die(m.where(), "non-numeric %s argument to '%s' function: '%s'", which, name, s)
		}
	}
	n, err := strconv.Atoi(t)
	if err != nil {
		return 1 << 40
	}
	return n
}

func fnWord(m *Make, name string, a []string) string {
	n := m.number(a[0], name, "first")
	if n == 0 {
		m.die(m.where(), "first argument to 'word' function must be greater than 0")
	}
	if list := m.words(a[1]); n <= len(list) {
		return list[n-1]
	}
	return ""
}

func fnWordlist(m *Make, name string, a []string) string {
	from, to := m.number(a[0], name, "first"), m.number(a[1], name, "second")
	if from < 1 {
		m.die(m.where(), "invalid first argument to 'wordlist' function: '%d'", from)
	}
	list := m.words(a[2])
	if from > len(list) || to < from {
		return ""
	}
	return strings.Join(list[from-1:min(to, len(list))], " ")
}

func fnForeach(m *Make, _ string, a []string) string {
	name := trim(m.expand(a[0]))
	list := m.words(m.expand(a[1]))
	inner := &scope{vars: map[string]*variable{}, up: m.scope}
	old := m.scope
	m.scope = inner
	defer func() { m.scope = old }()
	b := text{m: m}
	for i, w := range list {
		m.p.Tick(1)
		b.sep(i == 0)
		inner.vars[name] = &variable{name: name, value: w, origin: originAutomatic}
		lent := m.memory.lent
		part := m.expand(a[2])
		m.takeBack(lent)
		b.add(part)
	}
	return b.String()
}

func fnCall(m *Make, _ string, a []string) string {
	name := trim(a[0])
	if name == "" {
		return ""
	}
	if f, ok := functions[name]; ok {
		args := a[1:]
		if f.most > 0 && len(args) > f.most {
			args = append(slices.Clone(args[:f.most-1]), strings.Join(args[f.most-1:], ","))
		}
		if len(args) < f.least {
			m.die(m.where(), "insufficient number of arguments (%d) to function '%s'", len(args), name)
		}
		for len(args) < f.most && len(args) < 1 {
			args = append(args, "")
		}
		return f.call(m, name, args)
	}
	v := m.lookup(name)
	if v == nil {
		return ""
	}
	inner := &scope{vars: map[string]*variable{}, up: m.scope}
	for i, x := range a {
		if i == 0 {
			x = name
		}
		inner.vars[itoa(i)] = &variable{name: itoa(i), value: x, origin: originAutomatic}
	}
	// The arguments of an outer call are not seen.
	for s := m.scope; s != nil && s != m.global; s = s.up {
		for n := range s.vars {
			if len(n) <= 2 && n[0] >= '0' && n[0] <= '9' && inner.vars[n] == nil {
				inner.vars[n] = &variable{name: n, origin: originAutomatic}
			}
		}
	}
	old, expanding := m.scope, v.expanding
	m.scope, v.expanding = inner, false
	defer func() { m.scope, v.expanding = old, expanding }()
	if !v.recursive {
		return v.value
	}
	return m.expand(v.value)
}

func fnMessage(m *Make, name string, a []string) string {
	switch name {
	case "info":
		m.p.Out.WriteString(a[0] + "\n")
	case "warning":
		m.complain(m.at, "%s", a[0])
	default:
		m.die(m.at, "%s", a[0])
	}
	return ""
}

func fnIf(m *Make, _ string, a []string) string {
	if m.expand(trim(a[0])) != "" {
		return m.expand(a[1])
	}
	if len(a) > 2 {
		return m.expand(a[2])
	}
	return ""
}

func fnOr(m *Make, _ string, a []string) string {
	for _, x := range a {
		if s := m.expand(trim(x)); s != "" {
			return s
		}
	}
	return ""
}

func fnAnd(m *Make, _ string, a []string) string {
	s := ""
	for _, x := range a {
		if s = m.expand(trim(x)); s == "" {
			return ""
		}
	}
	return s
}

func fnEval(m *Make, _ string, a []string) string {
	at, sc, expanded := m.at, m.scope, m.expanded
	m.expanded = position{}
	// The text is read as if it stood in the makefile: variables it sets are global.
	m.read(a[0], at.file, max(at.line, 1))
	m.at, m.scope, m.expanded = at, sc, expanded
	return ""
}

func fnAbspath(m *Make, _ string, a []string) string {
	var out []string
	for _, w := range m.words(a[0]) {
		if !strings.HasPrefix(w, "/") {
			w = m.p.Dir + "/" + w
		}
		out = append(out, path.Clean(w))
	}
	return strings.Join(out, " ")
}

func fnRealpath(m *Make, _ string, a []string) string {
	var out []string
	for _, w := range m.words(a[0]) {
		if full, err := m.p.FS.Realpath(m.p.Abs(w)); err == nil {
			out = append(out, full)
		}
	}
	return strings.Join(out, " ")
}

func fnWildcard(m *Make, _ string, a []string) string {
	var out []string
	for _, w := range m.words(a[0]) {
		out = append(out, m.glob(w)...)
	}
	return strings.Join(out, " ")
}

func fnFile(m *Make, _ string, a []string) string {
	spec := trimLeft(a[0])
	if name, ok := strings.CutPrefix(spec, "<"); ok {
		if len(a) > 1 {
			m.die(m.where(), "file: too many arguments")
		}
		if name = trim(name); name == "" {
			m.die(m.where(), "file: missing filename")
		}
		data, err := m.p.ReadFile(name)
		if err != nil {
			if errors.Is(err, vfs.ENOENT) {
				return ""
			}
			m.die(m.where(), "open: %s: %s", name, proc.Strerror(err))
		}
		return strings.TrimSuffix(string(data), "\n")
	}
	flag := vfs.WriteOnly | vfs.Create | vfs.Trunc
	name, ok := strings.CutPrefix(spec, ">>")
	if ok {
		flag = vfs.WriteOnly | vfs.Create | vfs.Append
	} else if name, ok = strings.CutPrefix(spec, ">"); !ok {
		m.die(m.where(), "file: invalid file operation: %s", a[0])
	}
	if name = trim(name); name == "" {
		m.die(m.where(), "file: missing filename")
	}
	f, err := m.p.Open(name, flag, 0o666)
	if err != nil {
		m.die(m.where(), "open: %s: %s", name, proc.Strerror(err))
	}
	defer f.Close()
	if len(a) > 1 {
		text := a[1]
		if !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		if _, err := f.Write([]byte(text)); err != nil {
			m.die(m.where(), "write: %s: %s", name, proc.Strerror(err))
		}
	}
	return ""
}

// globName is the names that a word stands for, the word itself when there are none.
func (m *Make) globName(w string) []string {
	if !strings.ContainsAny(w, "*?[~") {
		return []string{w}
	}
	if list := m.glob(w); len(list) > 0 {
		return list
	}
	return []string{w}
}

// glob is the names of the files that match a pattern, sorted.
func (m *Make) glob(w string) []string {
	if rest, ok := strings.CutPrefix(w, "~"); ok && (rest == "" || rest[0] == '/') {
		w = m.p.Getenv("HOME") + rest
	}
	if !strings.ContainsAny(w, "*?[") {
		if _, err := m.p.Lstat(strings.TrimRight(w, "/")); err != nil && w != "/" {
			return nil
		}
		if strings.HasSuffix(w, "/") {
			if st, err := m.p.Stat(w); err != nil || !st.IsDir() {
				return nil
			}
		}
		return []string{w}
	}
	found := []string{""}
	if strings.HasPrefix(w, "/") {
		found = []string{"/"}
	}
	parts := strings.Split(strings.TrimLeft(w, "/"), "/")
	for i, part := range parts {
		last := i == len(parts)-1
		var next []string
		if part == "" {
			if last {
				for _, d := range found {
					if st, err := m.p.Stat(d); err == nil && st.IsDir() {
						next = append(next, d)
					}
				}
				found = next
			}
			continue
		}
		wild := strings.ContainsAny(part, "*?[")
		pat := pattern.Compile(part, 0, nil)
		for _, dir := range found {
			add := func(name string) {
				full := dir + name
				if !last {
					full += "/"
				}
				next = append(next, full)
			}
			if !wild {
				if _, err := m.p.Lstat(dir + part); err == nil {
					add(part)
				}
				continue
			}
			at := dir
			if at == "" {
				at = "."
			}
			list, err := m.p.ReadDir(at)
			if err != nil {
				continue
			}
			names := make([]string, 0, len(list)+2)
			if part[0] == '.' {
				names = append(names, ".", "..")
			}
			for _, e := range list {
				names = append(names, e.Name)
			}
			for _, n := range names {
				m.p.Tick(1)
				if n[0] == '.' && part[0] != '.' || !pat.Match(n) {
					continue
				}
				if !last {
					if st, err := m.p.Stat(dir + n); err != nil || !st.IsDir() {
						continue
					}
				}
				add(n)
			}
		}
		found = next
	}
	sort.Strings(found)
	return found
}
