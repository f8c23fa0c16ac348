package makefile

import (
	"math"
	"slices"
	"strings"
)

type status int

const (
	success status = iota
	outdated
	failed
)

type state int

const (
	notStarted state = iota
	depsRunning
	running
	finished
)

// Times of files that have none.
const (
	noTime  = math.MinInt64 // the file does not exist
	oldTime = math.MinInt64 + 1
	newTime = math.MaxInt64
)

// recipeLine is a line of a recipe, not expanded.
type recipeLine struct {
	text string
	line int
}

// recipe is shared by the targets of a rule.
type recipe struct {
	at    position
	lines []recipeLine
}

// dep is a prerequisite of a file.
type dep struct {
	f       *file
	order   bool // only the order counts, not the time
	changed bool
}

// file is a target or a prerequisite.
type file struct {
	name, hname string // where it was found, and what it is called
	deps        []*dep
	late        []string // prerequisites that are expanded a second time
	recipe      *recipe
	at          position
	stem        string
	hasStem     bool
	also        []*file // what the same recipe makes
	chain       []*file // of ::
	scope       *scope
	parent      *file

	doubleColon, target, phony, precious, intermediate, secondary, mentioned bool
	triedImplicit, dontCare, old, assumedNew, lateDone                       bool

	stated         bool
	mtime          int64
	before         int64 // the time before it was made
	updated, made  bool
	updating       bool
	state          state
	status         status
	considered     int
	ignoredFailure bool
}

// rule is a pattern rule.
type rule struct {
	targets  []string
	deps     string
	recipe   *recipe
	terminal bool
	inUse    bool
	builtin  bool
	key      string // see signature
}

type vpath struct {
	pattern string
	dirs    []string
}

// file is the file of a name, new if there was none.
func (m *Make) file(name string) *file {
	f := m.files[name]
	if f == nil {
		m.keep(len(name) + 256)
		f = &file{name: name, hname: name, before: noTime}
		m.files[name] = f
		m.order = append(m.order, f)
	}
	return f
}

// prerequisites parses a list of names; what follows | is only for the order.
func (m *Make) prerequisites(s string) []*dep {
	var out []*dep
	order := false
	for _, w := range m.words(strings.ReplaceAll(s, "|", " | ")) {
		m.p.Tick(1)
		m.keep(24)
		if w == "|" {
			order = true
			continue
		}
		for _, name := range m.globName(w) {
			f := m.file(cleanName(unescapeName(name)))
			f.mentioned = true
			out = append(out, &dep{f: f, order: order})
		}
	}
	return out
}

// record enters a rule that was read.
func (m *Make) record(p *pending) {
	var r *recipe
	if p.has {
		r = &recipe{at: p.recipeAt, lines: p.recipe}
		for _, l := range p.recipe {
			m.keep(len(l.text) + 32)
		}
	}
	wild := 0
	for _, t := range p.targets {
		if strings.Contains(t, "%") {
			wild++
		}
	}
	if wild > 0 && wild < len(p.targets) && !p.static {
		m.complain(p.at, "*** mixed implicit and normal rules: deprecated syntax")
	}
	if wild > 0 && !p.static && strings.Contains(p.targets[0], "%") {
		m.addPattern(&rule{targets: p.targets, deps: p.deps, recipe: r, terminal: p.double, builtin: m.builtin})
		return
	}
	var group []*file
	seen := map[string]bool{}
	for _, t := range p.targets {
		deps, stem, hasStem := p.deps, "", false
		if p.static {
			var ok bool
			if stem, ok = parsePattern(p.pattern).match(t); !ok {
				m.complain(p.at, "target '%s' doesn't match the target pattern", t)
				deps = ""
			}
			hasStem = ok
			var list []string
			for _, w := range m.words(strings.ReplaceAll(deps, "|", " | ")) {
				list = append(list, fill(w, stem))
			}
			deps = strings.Join(list, " ")
		}
		if seen[t] && !p.double {
			m.complain(p.at, "target '%s' given more than once in the same rule", t)
		}
		seen[t] = true
		f := m.enter(p, t, deps, r)
		if hasStem {
			f.stem, f.hasStem = stem, true
		}
		group = append(group, f)
	}
	if p.grouped {
		for _, f := range group {
			m.p.Tick(len(group))
			m.keep(8 * len(group))
			for _, g := range group {
				if f != g {
					f.also = append(f.also, g)
				}
			}
		}
	}
}

// enter adds a rule to one target.
func (m *Make) enter(p *pending, t, deps string, r *recipe) *file {
	f := m.file(t)
	first := f
	if p.double != f.doubleColon && f.target && (len(f.deps) > 0 || f.recipe != nil || f.doubleColon) {
		m.die(p.at, "target file '%s' has both : and :: entries", t)
	}
	if p.double {
		if f.doubleColon {
			f = &file{name: t, hname: t, before: noTime, doubleColon: true, scope: first.scope}
		}
		f.doubleColon = true
		first.chain = append(first.chain, f)
	}
	if r != nil && f.recipe != nil && !p.double {
		if !m.builtin && !strings.HasPrefix(t, ".") || f.recipe.at.file != "" {
			m.complain(r.at, "warning: overriding recipe for target '%s'", t)
			m.complain(f.recipe.at, "warning: ignoring old recipe for target '%s'", t)
		}
	}
	f.target, first.target = true, true
	f.at = p.at
	if m.second && strings.Contains(deps, "$") {
		if r != nil {
			f.late = append([]string{deps}, f.late...)
		} else {
			f.late = append(f.late, deps)
		}
	} else {
		list := m.prerequisites(deps)
		m.p.Tick(len(f.deps) >> 6)
		if r != nil {
			// The rule with the recipe gives the first prerequisite.
			f.deps = append(list, f.deps...)
		} else {
			f.deps = append(f.deps, list...)
		}
		m.special1(t, list)
	}
	if r != nil {
		f.recipe = r
		if t == ".DEFAULT" {
			m.fallback = f
		}
	}
	if m.value(".DEFAULT_GOAL") == "" && !m.builtin && m.isGoal(t) {
		m.set(".DEFAULT_GOAL", t, originFile, false)
	}
	return f
}

func (m *Make) isGoal(t string) bool {
	if strings.HasPrefix(t, ".") && !strings.Contains(t, "/") {
		return false
	}
	return true
}

// special1 is what the special targets do.
func (m *Make) special1(t string, deps []*dep) {
	if t[0] != '.' {
		return
	}
	switch t {
	case ".PHONY":
		for _, d := range deps {
			d.f.phony, d.f.target = true, true
		}
	case ".PRECIOUS":
		for _, d := range deps {
			d.f.precious = true
			if strings.Contains(d.f.name, "%") {
				m.preciousP = append(m.preciousP, d.f.name)
			}
		}
	case ".INTERMEDIATE":
		for _, d := range deps {
			d.f.intermediate = true
		}
	case ".SECONDARY":
		m.secondAll = m.secondAll || len(deps) == 0
		for _, d := range deps {
			d.f.intermediate, d.f.secondary = true, true
		}
	case ".SECONDEXPANSION":
		m.second = true
	case ".ONESHELL":
		m.oneShell = true
	case ".NOTPARALLEL":
		m.noParallel = true
	case ".DELETE_ON_ERROR":
		m.deleteErr = true
	case ".EXPORT_ALL_VARIABLES":
		m.exportAll = true
	case ".SILENT":
		m.silentAll = m.silentAll || len(deps) == 0
		for _, d := range deps {
			d.f.at.line = -1 - max(d.f.at.line, 0)
			m.ownScope(d.f).vars[".SILENT"] = &variable{name: ".SILENT", value: "1", origin: originAutomatic}
		}
	case ".IGNORE":
		m.ignoreAll = m.ignoreAll || len(deps) == 0
		for _, d := range deps {
			d.f.ignoredFailure = true
		}
	case ".POSIX":
		m.set(".SHELLFLAGS", "-ec", originDefault, false)
	case ".SUFFIXES":
		if len(deps) == 0 {
			m.suffixes = nil
			m.files[t].deps = nil
		}
		for _, d := range deps {
			m.suffixes = append(m.suffixes, d.f.name)
		}
	}
}

// signature tells pattern rules of the same targets and prerequisites.
func (r *rule) signature() string {
	if r.key == "" {
		r.key = strings.Join(r.targets, " ") + ":" + strings.Join(words(r.deps), " ")
	}
	return r.key
}

// addPattern enters a pattern rule. One without a recipe takes away the one it looks like.
func (m *Make) addPattern(r *rule) {
	sig := r.signature()
	m.keep(2*len(sig) + 128)
	m.p.Tick(1 + len(m.rules)>>4)
	if r.builtin {
		if m.cancelled[sig] || slices.ContainsFunc(m.rules, func(o *rule) bool { return o.signature() == sig }) {
			return
		}
	} else {
		if i := slices.IndexFunc(m.rules, func(o *rule) bool { return o.signature() == sig }); i >= 0 {
			if r.recipe == nil {
				m.rules = slices.Delete(m.rules, i, i+1)
			} else {
				m.rules[i] = r
			}
			return
		}
		if r.recipe == nil {
			m.cancelled[sig] = true
			return
		}
	}
	m.rules = append(m.rules, r)
}

// convertSuffixRules makes pattern rules of the targets that are suffixes.
func (m *Make) convertSuffixRules() {
	known := func(s string) bool { return slices.Contains(m.suffixes, s) }
	for _, f := range slices.Clone(m.order) {
		if f.recipe == nil || len(f.deps) > 0 || f.name[0] != '.' {
			continue
		}
		if known(f.name) {
			m.prepend(&rule{targets: []string{"%"}, deps: "%" + f.name, recipe: f.recipe})
			continue
		}
		m.p.Tick(1 + len(f.name)*len(m.suffixes)>>3)
		for i := 1; i < len(f.name); i++ {
			if from, to := f.name[:i], f.name[i:]; known(from) && known(to) {
				m.prepend(&rule{targets: []string{"%" + to}, deps: "%" + from, recipe: f.recipe})
			}
		}
	}
}

// prepend enters a suffix rule before the builtin pattern rules, in place of the one it looks like.
func (m *Make) prepend(r *rule) {
	sig := r.signature()
	m.p.Tick(1 + len(m.rules)>>4)
	if i := slices.IndexFunc(m.rules, func(o *rule) bool { return o.signature() == sig }); i >= 0 {
		if m.rules[i].builtin {
			m.rules[i] = r
		}
		return
	}
	i := slices.IndexFunc(m.rules, func(o *rule) bool { return o.builtin })
	if i < 0 {
		i = len(m.rules)
	}
	m.rules = slices.Insert(m.rules, i, r)
}

// addVpath is the vpath directive.
func (m *Make) addVpath(s string) {
	pat, rest := firstWord(s)
	if pat == "" {
		m.vpaths = nil
		return
	}
	dirs := strings.FieldsFunc(rest, func(c rune) bool { return c == ':' || c == ' ' || c == '\t' })
	if len(dirs) == 0 {
		m.vpaths = slices.DeleteFunc(m.vpaths, func(v vpath) bool { return v.pattern == pat })
		return
	}
	m.vpaths = append(m.vpaths, vpath{pat, dirs})
}

// search looks for a file in the directories of vpath and VPATH.
func (m *Make) search(name string) (string, bool) {
	if strings.HasPrefix(name, "/") || name == "" {
		return "", false
	}
	try := func(dirs []string) (string, bool) {
		for _, d := range dirs {
			full := cleanName(strings.TrimRight(d, "/") + "/" + name)
			if _, err := m.p.Stat(full); err == nil {
				return full, true
			}
			if f := m.files[full]; f != nil && f.target && f.recipe != nil {
				return full, true
			}
		}
		return "", false
	}
	for _, v := range m.vpaths {
		if _, ok := parsePattern(v.pattern).match(name); ok {
			if full, ok := try(v.dirs); ok {
				return full, true
			}
		}
	}
	if v := m.global.vars["VPATH"]; v != nil {
		return try(strings.FieldsFunc(m.expandVariable(v), func(c rune) bool { return c == ':' || c == ' ' || c == '\t' }))
	}
	return "", false
}

// candidate is a pattern rule that matches a name.
type candidate struct {
	r     *rule
	which int
	stem  string
	dir   string // of the name, where the pattern has none
}

// planned is a prerequisite that an implicit rule asks for.
type planned struct {
	name  string
	order bool
	via   *plan // how it can be made, when it is not there
}

// plan is an implicit rule that can make a file.
type plan struct {
	c    candidate
	deps []planned
}

// implicit looks for an implicit rule for a file and enters what it finds.
func (m *Make) implicit(f *file) {
	f.triedImplicit = true
	if pl := m.plan(f, f.hname, 0); pl != nil {
		m.adopt(f, pl)
	}
}

func (m *Make) plan(f *file, name string, depth int) *plan {
	m.p.Tick(1 + len(m.rules))
	dir, base := "", name
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		dir, base = name[:i+1], name[i+1:]
	}
	var list []candidate
	specific := false
	for _, r := range m.rules {
		if r.inUse || r.recipe == nil && r.deps != "" {
			continue
		}
		for i, t := range r.targets {
			if t == "%" && !r.terminal && depth > 0 {
				continue
			}
			c := candidate{r: r, which: i}
			subject := name
			if dir != "" && !strings.Contains(t, "/") {
				c.dir, subject = dir, base
			}
			stem, ok := parsePattern(t).match(subject)
			if !ok || stem == "" {
				continue
			}
			c.stem = stem
			specific = specific || t != "%"
			list = append(list, c)
		}
	}
	if specific {
		list = slices.DeleteFunc(list, func(c candidate) bool { return c.r.targets[c.which] == "%" && !c.r.terminal })
	}
	list = slices.DeleteFunc(list, func(c candidate) bool { return c.r.recipe == nil })
	slices.SortStableFunc(list, func(a, b candidate) int { return len(a.stem) - len(b.stem) })
	for _, chain := range []bool{false, true} {
		for _, c := range list {
			if chain && c.r.terminal || c.r.inUse {
				continue
			}
			if pl := m.try(f, c, chain, depth); pl != nil {
				return pl
			}
		}
	}
	return nil
}

// try says whether the prerequisites of a rule are there, or can be made.
func (m *Make) try(f *file, c candidate, chain bool, depth int) *plan {
	pl := &plan{c: c}
	text := c.r.deps
	if m.second && strings.Contains(text, "$") {
		text = m.expandLate(f, strings.ReplaceAll(text, "%", c.stem), c.dir+c.stem)
	}
	order := false
	for _, w := range m.words(strings.ReplaceAll(text, "|", " | ")) {
		if w == "|" {
			order = true
			continue
		}
		name := w
		if strings.Contains(w, "%") {
			name = fill(w, c.stem)
			if c.dir != "" {
				name = c.dir + name
			}
		}
		for _, name := range m.globName(name) {
			name = cleanName(name)
			d := planned{name: name, order: order}
			if !m.thereIs(name, f) {
				if !chain || depth > 16 {
					return nil
				}
				c.r.inUse = true
				d.via = m.plan(&file{name: name, hname: name, scope: f.scope}, name, depth+1)
				c.r.inUse = false
				if d.via == nil {
					return nil
				}
			}
			pl.deps = append(pl.deps, d)
		}
	}
	return pl
}

// thereIs reports whether a file exists or ought to.
func (m *Make) thereIs(name string, of *file) bool {
	if f := m.files[name]; f != nil && (f.target || f.mentioned) && f != of {
		return true
	}
	if _, err := m.p.Stat(name); err == nil {
		return true
	}
	_, ok := m.search(name)
	return ok
}

// adopt enters the rule that was found.
func (m *Make) adopt(f *file, pl *plan) {
	c := pl.c
	var deps []*dep
	for _, d := range pl.deps {
		g := m.files[d.name]
		if g == nil {
			g = m.file(d.name)
		}
		if d.via != nil && g.recipe == nil {
			g.triedImplicit = true
			if !g.mentioned && !g.target {
				g.intermediate = true
			}
			m.adopt(g, d.via)
		}
		deps = append(deps, &dep{f: g, order: d.order})
	}
	f.deps = append(deps, f.deps...)
	f.recipe = c.r.recipe
	f.stem, f.hasStem = c.dir+c.stem, true
	f.target = true
	if slices.Contains(m.preciousP, c.r.targets[c.which]) {
		f.precious = true
	}
	for i, t := range c.r.targets {
		if i == c.which {
			continue
		}
		g := m.file(c.dir + fill(t, c.stem))
		f.also = append(f.also, g)
		if g.recipe == nil && g != f {
			g.recipe, g.stem, g.hasStem, g.target = c.r.recipe, f.stem, true, true
			g.deps = append(slices.Clone(deps), g.deps...)
			g.triedImplicit = true
			g.also = append(g.also, f)
		}
	}
}

// lateDeps expands prerequisites a second time, with the automatic variables of the target.
func (m *Make) lateDeps(f *file) {
	if f.lateDone {
		return
	}
	f.lateDone = true
	for _, s := range f.late {
		f.deps = append(f.deps, m.prerequisites(m.expandLate(f, s, f.stem))...)
	}
}

func (m *Make) expandLate(f *file, s, stem string) string {
	sc := &scope{vars: map[string]*variable{}, up: m.ownScope(f)}
	m.automatic(sc, "@", f.name)
	m.automatic(sc, "*", stem)
	m.dependencyVariables(sc, f)
	old := m.scope
	m.scope = sc
	defer func() { m.scope = old }()
	return m.expand(s)
}

func (m *Make) automatic(sc *scope, name, value string) {
	sc.vars[name] = &variable{name: name, value: value, origin: originAutomatic}
}

// dependencyVariables sets $< $^ $+ $? and $|.
func (m *Make) dependencyVariables(sc *scope, f *file) {
	var first string
	var all, once, newer, order []string
	seen := map[string]bool{}
	m.p.Tick(len(f.deps))
	total := 0
	for _, d := range f.deps {
		name := d.f.name
		total += 3 * len(name)
		if d.order {
			if !seen["|"+name] {
				seen["|"+name] = true
				order = append(order, name)
			}
			continue
		}
		if first == "" {
			first = name
		}
		all = append(all, name)
		if !seen[name] {
			seen[name] = true
			once = append(once, name)
			if d.changed || m.AlwaysMake {
				newer = append(newer, name)
			}
		}
	}
	order = slices.DeleteFunc(order, func(n string) bool { return seen[n] })
	m.keep(total)
	m.automatic(sc, "<", first)
	m.automatic(sc, "^", strings.Join(once, " "))
	m.automatic(sc, "+", strings.Join(all, " "))
	m.automatic(sc, "?", strings.Join(newer, " "))
	m.automatic(sc, "|", strings.Join(order, " "))
}

// automaticVariables sets the variables of a recipe.
func (m *Make) automaticVariables(f *file) {
	sc := m.ownScope(f)
	m.automatic(sc, "@", f.name)
	m.automatic(sc, "%", "")
	stem := f.stem
	if !f.hasStem {
		for _, s := range m.suffixes {
			if base, ok := strings.CutSuffix(f.name, s); ok && base != "" {
				stem = base
				break
			}
		}
	}
	m.automatic(sc, "*", stem)
	m.dependencyVariables(sc, f)
}
