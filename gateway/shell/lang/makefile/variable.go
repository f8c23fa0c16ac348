package makefile

import (
	"slices"
	"sort"
	"strings"
)

// origin says where a variable comes from. What is later overrides what is earlier.
type origin int

const (
	originDefault origin = iota
	originEnvironment
	originFile
	originEnvOverride
	originCommand
	originOverride
	originAutomatic
)

var originNames = []string{"default", "environment", "file", "environment override", "command line", "override",
	"automatic"}

type export int

const (
	exportDefault export = iota
	exported
	notExported
)

type variable struct {
	name, value string
	recursive   bool
	origin      origin
	export      export
	private     bool
	appends     bool // of a target: to the value it has further out
	undefined   bool // only exported so far
	expanding   bool
	at          position
	held        int // bytes that count
}

// scope is a set of variables and the scope around it.
type scope struct {
	vars  map[string]*variable
	up    *scope
	outer bool // what is private further up is not seen
}

// patternVariable is a variable of all targets that match.
type patternVariable struct {
	pattern, name, op, value string
	origin                   origin
	export                   bool
	at                       position
}

// lookup finds a variable, nil when there is none.
func (m *Make) lookup(name string) *variable { return m.scope.lookup(name) }

func (s *scope) lookup(name string) *variable {
	hidden := false
	for ; s != nil; s = s.up {
		if v := s.vars[name]; v != nil && !v.undefined && !(hidden && v.private) {
			return v
		}
		hidden = hidden || s.outer
	}
	return nil
}

// value is the unexpanded value of a variable.
func (m *Make) value(name string) string {
	if v := m.lookup(name); v != nil {
		return v.value
	}
	return ""
}

// set defines a variable, be it over one of the same rank.
func (m *Make) set(name, value string, o origin, recursive bool) *variable {
	if old := m.global.vars[name]; old != nil && old.origin > o {
		return old
	}
	v := &variable{name: name, value: value, origin: o, recursive: recursive, at: m.at}
	if old := m.global.vars[name]; old != nil {
		v.export = old.export
	}
	m.global.vars[name] = v
	return v
}

// assign does what an assignment of a makefile or of the command line says.
func (m *Make) assign(s *scope, name, op, value string, o origin) *variable {
	old := s.vars[name]
	if old != nil && old.undefined {
		old = nil
	}
	locked := old != nil && old.origin > o && old.origin != originAutomatic
	if locked && op != "+=" {
		return old
	}
	recursive := true
	switch op {
	case ":=":
		value, recursive = m.expand(value), false
	case "!=":
		value = m.shellOutput(value)
	case "?=":
		if old != nil || s == m.global && m.lookup(name) != nil {
			if old == nil {
				old = m.lookup(name)
			}
			return old
		}
	case "+=":
		if locked {
			return old
		}
		if old != nil {
			if !old.recursive {
				value = m.expand(value)
			}
			if old.value != "" {
				value = old.value + " " + value
			}
			recursive = old.recursive
		}
	}
	v := &variable{name: name, value: value, recursive: recursive, origin: o, at: m.at}
	if prev := s.vars[name]; prev != nil {
		v.export, v.private, v.appends = prev.export, prev.private, prev.appends && op == "+="
		if op == "+=" && prev.origin == originEnvironment && o == originFile {
			v.origin = originFile
		}
	}
	if m.Environment && o == originFile && old != nil && old.origin == originEnvironment {
		return old
	}
	v.held = len(name) + len(value) + 96
	m.keep(v.held)
	if prev := s.vars[name]; prev != nil {
		m.keep(-prev.held)
	}
	s.vars[name] = v
	return v
}

// assignTarget is assign for a variable of a target: += goes on from the value that the variable has further out, when
// it is used.
func (m *Make) assignTarget(s *scope, name, op, value string, o origin) *variable {
	if g := m.global.vars[name]; g != nil && !g.undefined && g.origin > o && o != originOverride {
		return &variable{name: name, value: g.value, origin: g.origin}
	}
	if op == "+=" && s.vars[name] == nil {
		v := &variable{name: name, value: value, recursive: true, origin: o, appends: true, at: m.at}
		if g := m.lookup(name); g != nil && !g.recursive {
			v.value, v.recursive = m.expand(value), false
		}
		s.vars[name] = v
		return v
	}
	if op == "?=" {
		if v := m.lookup(name); v != nil && s.vars[name] == nil {
			return &variable{name: name}
		}
	}
	return m.assign(s, name, op, value, o)
}

// ownScope is where the variables of a target are.
func (m *Make) ownScope(f *file) *scope {
	if f.scope == nil {
		f.scope = &scope{vars: map[string]*variable{}, up: m.global, outer: true}
	}
	return f.scope
}

// expand replaces the references of variables and the calls of functions.
func (m *Make) expand(s string) string {
	i := strings.IndexByte(s, '$')
	if i < 0 {
		return s
	}
	m.p.Tick(1 + len(s)>>8)
	b := text{m: m}
	lent := m.memory.lent
	m.memory.deep++
	for i >= 0 {
		b.add(s[:i])
		s = s[i:]
		n := m.reference(&b, s)
		s = s[n:]
		i = strings.IndexByte(s, '$')
	}
	b.add(s)
	m.memory.deep--
	m.takeBack(lent)
	if m.memory.deep == 0 {
		m.takeBack(0)
	} else if b.Len() > large {
		m.lend(b.Len()) // until the expansion around it has ended
	}
	return b.String()
}

// reference expands what s, which begins with $, begins with, and returns its length.
func (m *Make) reference(b *text, s string) int {
	if len(s) == 1 {
		return 1
	}
	switch c := s[1]; {
	case c == '$':
		b.WriteByte('$')
		return 2
	case isBlank(c):
		return 1
	case c != '(' && c != '{':
		b.add(m.variableValue(s[1:2]))
		return 2
	}
	n := matching(s[1:])
	if n == 0 {
		if name, _, ok := functionCall(s[2:]); ok {
			closing := ")"
			if s[1] == '{' {
				closing = "}"
			}
			m.die(m.where(), "unterminated call to function '%s': missing '%s'", name, closing)
		}
		m.die(m.where(), "unterminated variable reference")
	}
	body := s[2:n]
	if m.depth++; m.depth > 2000 {
		m.die(m.where(), "variables are nested too deeply")
	}
	defer func() { m.depth-- }()
	if name, args, ok := functionCall(body); ok {
		b.add(m.call(name, args, s[1]))
		return n + 1
	}
	if i := strings.IndexByte(body, '$'); i >= 0 {
		// A colon may come out of a variable, and one within the reference of another is no substitution.
		body = m.expand(body)
	}
	name, from, to, subst := substitution(body)
	if !subst {
		if name == "" {
			m.die(m.where(), "empty variable name")
		}
		b.add(m.variableValue(name))
		return n + 1
	}
	value := m.variableValue(name)
	if !strings.Contains(from, "%") {
		from, to = "%"+from, "%"+to
	}
	b.add(m.patsubst(from, to, value))
	return n + 1
}

// substitution splits NAME:FROM=TO.
func substitution(s string) (name, from, to string, ok bool) {
	i := strings.IndexByte(s, ':')
	if i < 0 {
		return s, "", "", false
	}
	from, to, ok = strings.Cut(s[i+1:], "=")
	if !ok {
		return s, "", "", false
	}
	return s[:i], from, to, true
}

// variableValue expands a variable.
func (m *Make) variableValue(name string) string {
	v := m.lookup(name)
	if v == nil {
		if s, ok := m.special(name); ok {
			return s
		}
		if m.WarnUndefined && !strings.ContainsAny(name, "@<^+?*%|") {
			m.complain(m.where(), "warning: undefined variable '%s'", name)
		}
		return ""
	}
	return m.expandVariable(v)
}

func (m *Make) special(name string) (string, bool) {
	if len(name) == 2 && strings.IndexByte("@%*<^+?|", name[0]) >= 0 {
		switch name[1] {
		case 'D':
			return m.patsubst("%/", "%", fnDir(m, "", []string{m.variableValue(name[:1])})), true
		case 'F':
			return fnNotdir(m, "", []string{m.variableValue(name[:1])}), true
		}
	}
	switch name {
	case ".VARIABLES":
		var names []string
		for n, v := range m.global.vars {
			if !v.undefined {
				names = append(names, n)
			}
		}
		sort.Strings(names)
		return strings.Join(names, " "), true
	}
	return "", false
}

func (m *Make) expandVariable(v *variable) string {
	value := v.value
	if v.recursive && strings.IndexByte(value, '$') >= 0 {
		if v.expanding {
			if m.exporting {
				return ""
			}
			at := m.where()
			if v.at.file != "" {
				at = v.at
			}
			m.die(at, "Recursive variable '%s' references itself (eventually)", v.name)
		}
		v.expanding = true
		outer := m.expanded
		if v.at.file != "" {
			m.expanded = v.at
		}
		value = m.expand(value)
		m.expanded = outer
		v.expanding = false
	}
	if v.appends {
		for s := m.scope; s != nil; s = s.up {
			if s.vars[v.name] != v {
				continue
			}
			if outer := s.up.lookup(v.name); outer != nil {
				old := m.scope
				m.scope = s.up
				if o := m.expandVariable(outer); o != "" {
					value = o + " " + value
				}
				m.scope = old
			}
			break
		}
	}
	return value
}

// environment is what recipes get: the variables of the environment and of the command line, and those that are
// exported.
func (m *Make) environment() []string {
	m.exporting = true
	defer func() { m.exporting = false }()
	seen := map[string]bool{}
	var out []string
	for s := m.scope; s != nil; s = s.up {
		names := make([]string, 0, len(s.vars))
		for n := range s.vars {
			names = append(names, n)
		}
		slices.Sort(names)
		for _, n := range names {
			v := s.vars[n]
			if seen[n] || v.undefined || v.private && s != m.scope {
				continue
			}
			ok := v.export == exported
			if v.export == exportDefault {
				g := m.global.vars[n]
				switch {
				case g != nil && g.export == exported:
					ok = true
				case g != nil && g.export == notExported:
				case v.origin == originAutomatic || v.origin == originDefault:
				case v.origin == originCommand || v.origin == originEnvironment || v.origin == originEnvOverride || m.exportAll:
					ok = shellName(n)
				default:
					_, inEnv := m.p.Env.Get(n)
					ok = inEnv && shellName(n)
				}
			}
			if n == "SHELL" && v.export != exported || n == "MAKEFLAGS" || n == "MAKELEVEL" {
				ok = false
				if n == "SHELL" {
					if e, has := m.p.Env.Get("SHELL"); has {
						seen[n] = true
						out = append(out, "SHELL="+e)
					}
				}
			}
			if v.export == notExported {
				seen[n] = true
			}
			if ok {
				seen[n] = true
				out = append(out, n+"="+m.expandVariable(v))
			}
		}
	}
	flags := m.makeFlags()
	out = append(out, "MAKELEVEL="+itoa(m.level+1))
	return append(out, "MAKEFLAGS="+flags)
}

func shellName(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// makeFlags are the options for a make that this one runs.
func (m *Make) makeFlags() string {
	var b strings.Builder
	for _, f := range []struct {
		on bool
		c  byte
	}{
		{m.AlwaysMake, 'B'}, {m.Debug, 'd'}, {m.Environment, 'e'}, {m.IgnoreErrors, 'i'}, {m.KeepGoing, 'k'}, {m.DryRun, 'n'},
		{m.PrintDatabase, 'p'},
		{m.Question, 'q'}, {m.NoBuiltinRules, 'r'}, {m.NoBuiltinVars, 'R'}, {m.Silent, 's'}, {m.Touch, 't'},
		{m.PrintDir, 'w'},
	} {
		if f.on {
			b.WriteByte(f.c)
		}
	}
	if m.Jobs > 0 && m.Jobs != 1 {
		b.WriteString(" -j" + itoa(m.Jobs))
	} else if m.Jobs < 0 {
		b.WriteString(" -j")
	}
	if m.Sync != "" {
		b.WriteString(" -O" + m.Sync)
	}
	for _, d := range m.Include {
		b.WriteString(" -I " + d)
	}
	if m.NoPrintDir {
		b.WriteString(" --no-print-directory")
	}
	if m.WarnUndefined {
		b.WriteString(" --warn-undefined-variables")
	}
	if m.Trace {
		b.WriteString(" --trace")
	}
	if len(m.Assignments) > 0 {
		b.WriteString(" --")
		for _, a := range m.Assignments {
			b.WriteString(" " + strings.NewReplacer("\\", "\\\\", " ", "\\ ", "\t", "\\\t", "$", "$$").Replace(a))
		}
	}
	return b.String()
}

// defineDefaults sets the variables there are before any makefile is read.
func (m *Make) defineDefaults() {
	if !m.NoBuiltinVars {
		for _, kv := range builtinVariables {
			m.set(kv[0], kv[1], originDefault, true)
		}
	}
	simple := func(name, value string) { m.set(name, value, originDefault, false) }
	simple("MAKE_VERSION", Version)
	simple("MAKE_HOST", "x86_64-pc-linux-gnu")
	simple(".FEATURES",
		"target-specific order-only second-expansion else-if shortest-stem undefine oneshell nocomment grouped-target extra-prereqs output-sync check-symlink")
	simple(".INCLUDE_DIRS", strings.Join(append(slices.Clone(m.Include), "/usr/local/include", "/usr/include"), " "))
	simple(".SHELLFLAGS", "-c")
	simple("SHELL", "/bin/sh")
	simple(".RECIPEPREFIX", "")
	simple("MAKE_COMMAND", m.Command)
	m.set("MAKE", "$(MAKE_COMMAND)", originDefault, true)
	m.set("SUFFIXES", defaultSuffixes, originDefault, false)
	m.set(".LIBPATTERNS", "lib%.so lib%.a", originDefault, true)
	for _, kv := range m.p.Env.List() {
		name, value, ok := strings.Cut(kv, "=")
		if !ok || name == "SHELL" || name == "MAKELEVEL" {
			continue
		}
		o := originEnvironment
		if m.Environment {
			o = originEnvOverride
		}
		m.set(name, value, o, true)
	}
	m.set("MAKEFLAGS", m.makeFlags(), originEnvironment, true)
	mflags := m.makeFlags()
	if i := strings.Index(mflags, " -- "); i >= 0 {
		mflags = mflags[:i]
	}
	if mflags != "" && mflags[0] != ' ' {
		mflags = "-" + mflags
	}
	m.set("MFLAGS", trim(mflags), originEnvironment, true)
	m.set("MAKELEVEL", itoa(m.level), originEnvironment, false)
	m.set("MAKEFILE_LIST", "", originFile, false)
	m.set("CURDIR", m.p.Dir, originFile, false)
	m.set("MAKECMDGOALS", strings.Join(m.Goals, " "), originAutomatic, false)
	if len(m.Goals) == 0 {
		delete(m.global.vars, "MAKECMDGOALS")
	}
	m.set(".DEFAULT_GOAL", "", originFile, false)
	for _, a := range m.Assignments {
		name, op, value, _ := splitAssignment(a)
		m.assign(m.global, trim(m.expand(name)), op, value, originCommand)
	}
}

// IsAssignment reports whether an operand sets a variable.
func IsAssignment(s string) bool {
	_, _, _, ok := splitAssignment(s)
	return ok
}
