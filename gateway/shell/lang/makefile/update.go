package makefile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

type goal struct {
	f        *file
	makefile *makefileGoal
	changed  bool
	done     bool
}

// updateGoals brings the goals up to date.
func (m *Make) updateGoals(goals []*goal) status {
	result := success
	for {
		m.pass++
		unfinished := false
		for _, g := range goals {
			if g.done {
				continue
			}
			chain := g.f.chain
			if !g.f.doubleColon {
				chain = []*file{g.f}
			}
			stop, pending := false, false
			for _, f := range chain {
				before := m.started
				m.remaking = g.makefile
				f.dontCare = f.dontCare || g.f.dontCare
				s := m.update(f, 0)
				if m.started > before {
					g.changed = true
				}
				if s != success || f.updated {
					if f.status != success || s != success {
						result = max(result, f.status, s)
						stop = stop || !m.KeepGoing && !m.rebuilding
						if m.Question && !m.KeepGoing && !m.rebuilding {
							stop = true
						}
					}
				}
				if !f.updated && f.status == success && s == success {
					pending = true
				}
			}
			if stop && !m.rebuilding {
				m.finishJobs(result)
				return result
			}
			if pending {
				unfinished = true
				continue
			}
			g.done = true
			last := g.f
			if !m.rebuilding && last.status == success && !g.changed && result != outdated && !m.Silent && !m.Question {
				if last.phony || last.recipe == nil {
					m.say("Nothing to be done for '%s'.", last.name)
				} else {
					m.say("'%s' is up to date.", last.name)
				}
			}
		}
		if !unfinished {
			break
		}
		if len(m.running) == 0 {
			if len(m.waiting) == 0 {
				break
			}
			continue
		}
		m.reap()
	}
	m.finishJobs(result)
	return result
}

// finishJobs waits for what still runs.
func (m *Make) finishJobs(s status) {
	if len(m.running) > 0 && s == failed {
		m.complain(position{}, "*** Waiting for unfinished jobs....")
	}
	for len(m.running) > 0 {
		m.reap()
	}
}

// update brings a file up to date, all of its :: rules.
func (m *Make) update(f *file, depth int) status {
	if f.considered == m.pass {
		if f.updated {
			return f.status
		}
		return success
	}
	if depth > 1000 {
		m.die(position{}, "prerequisites are nested too deeply")
	}
	chain := f.chain
	if !f.doubleColon || len(chain) == 0 {
		f.considered = m.pass
		return m.update1(f, depth)
	}
	result := success
	for _, c := range chain {
		c.considered = m.pass
		c.parent = f.parent
		s := m.update1(c, depth)
		result = max(result, s)
		if s != success && !m.KeepGoing {
			break
		}
		if c.state == running || c.state == depsRunning {
			return success // the next rule waits for this one
		}
	}
	return result
}

func (f *file) isRunning() bool {
	if f.doubleColon && len(f.chain) > 1 {
		return slices.ContainsFunc(f.chain, func(c *file) bool { return c.state == running || c.state == depsRunning })
	}
	return f.state == running || f.state == depsRunning
}

// time is when a file was changed last.
func (m *Make) time(f *file) int64 {
	if f.stated {
		return f.mtime
	}
	f.stated = true
	if f.phony {
		f.mtime = noTime
		return noTime
	}
	st, err := m.p.Stat(f.name)
	if err != nil {
		if full, ok := m.search(f.hname); ok && f.name == f.hname {
			if st, err = m.p.Stat(full); err == nil || m.files[full] != nil {
				f.name = full
			}
		}
		if err != nil && strings.HasPrefix(f.name, "-l") {
			if full, ok := m.library(f.name[2:]); ok {
				f.name = full
				st, err = m.p.Stat(full)
			}
		}
	}
	if err != nil {
		f.mtime = noTime
	} else {
		f.mtime = st.Mtime
		if ahead := float64(st.Mtime-m.p.Now().UnixNano()) / 1e9; ahead > 0.05 && !m.skewed && !f.made {
			m.skewed = true
			text := fmt.Sprintf("%.2g", ahead)
			if ahead >= 99 {
				text = strconv.FormatInt(int64(ahead), 10)
			}
			m.complain(position{}, "Warning: File '%s' has modification time %s s in the future", f.name, text)
		}
	}
	if f.before == noTime {
		f.before = f.mtime
	}
	return f.mtime
}

// library finds a library that is a prerequisite like -lm.
func (m *Make) library(name string) (string, bool) {
	for _, p := range m.words(m.expand(m.value(".LIBPATTERNS"))) {
		lib := fill(p, name)
		for _, full := range []string{lib, "/lib/" + lib, "/usr/lib/" + lib} {
			if _, err := m.p.Stat(full); err == nil {
				return full, true
			}
		}
	}
	return "", false
}

func (m *Make) linkScope(f *file) {
	up := m.global
	if f.parent != nil && f.parent != f {
		up = m.ownScope(f.parent)
	}
	sc := m.ownScope(f)
	// Variables of patterns stand between those of the target and those of who needs it; the longest pattern is the
	// nearest.
	var matches []*patternVariable
	m.p.Tick(len(m.patVars))
	for _, pv := range m.patVars {
		if _, ok := parsePattern(pv.pattern).match(f.hname); ok {
			matches = append(matches, pv)
		}
	}
	sc.up = up
	if len(matches) == 0 {
		return
	}
	slices.SortStableFunc(matches, func(a, b *patternVariable) int { return len(b.pattern) - len(a.pattern) })
	inner := &scope{vars: map[string]*variable{}, up: up}
	old := m.scope
	m.scope = up
	for _, pv := range slices.Backward(matches) {
		if pv.op == ":=" {
			v := m.set0(inner, pv)
			v.recursive = false
			continue
		}
		v := m.assignTarget(inner, pv.name, pv.op, pv.value, pv.origin)
		if pv.export {
			v.export = exported
		}
	}
	m.scope = old
	sc.up = inner
}

func (m *Make) set0(s *scope, pv *patternVariable) *variable {
	v := &variable{name: pv.name, value: pv.value, origin: pv.origin, at: pv.at}
	if pv.export {
		v.export = exported
	}
	s.vars[pv.name] = v
	return v
}

func (m *Make) update1(f *file, depth int) status {
	m.p.Tick(1)
	if f.updated {
		if f.status == failed && f.dontCare && !m.rebuilding {
			f.dontCare = false
			if f.recipe == nil {
				m.noRule(f)
			}
		}
		return f.status
	}
	switch f.state {
	case running:
		return success
	case finished:
		return f.status
	}
	m.linkScope(f)
	this := m.time(f)
	absent := this == noTime
	must := absent
	m.debug(depth, "Considering target file '%s'.", f.name)
	if absent {
		m.debug(depth, " File '%s' does not exist.", f.name)
	}
	if !f.phony && f.recipe == nil && !f.triedImplicit {
		m.lateDeps(f)
		m.implicit(f)
	}
	m.lateDeps(f)
	if f.recipe == nil && !f.target && m.fallback != nil && m.fallback.recipe != nil && !f.phony {
		if absent {
			f.recipe = m.fallback.recipe
		}
	}
	f.updating = true
	result, busy := success, false
	f.deps = slices.DeleteFunc(f.deps, func(d *dep) bool {
		if d.f.updating {
			m.complain(position{}, "Circular %s <- %s dependency dropped.", f.name, d.f.name)
			return true
		}
		return false
	})
	for i := 0; i < len(f.deps); i++ {
		d := f.deps[i]
		before := m.time(d.f)
		if d.f.updating {
			m.complain(position{}, "Circular %s <- %s dependency dropped.", f.name, d.f.name)
			f.deps = slices.Delete(f.deps, i, i+1)
			i--
			continue
		}
		m.adoptChild(d.f, f)
		maybe := must
		s := m.check(d.f, depth+1, this, &maybe)
		if !d.order {
			must = maybe
		}
		result = max(result, s)
		if s != success && !m.KeepGoing {
			break
		}
		if d.f.isRunning() {
			busy = true
		} else {
			d.changed = m.time(d.f) != before || before == noTime
		}
	}
	// What is intermediate is made only now that it is needed.
	if must || m.AlwaysMake {
		for _, d := range f.deps {
			if !d.f.intermediate || result != success && !m.KeepGoing {
				continue
			}
			before := m.time(d.f)
			m.adoptChild(d.f, f)
			d.f.considered = 0
			s := m.update(d.f, depth+1)
			result = max(result, s)
			if d.f.isRunning() {
				busy = true
			} else {
				d.changed = d.f.phony && d.f.recipe != nil || m.time(d.f) != before
			}
		}
	}
	f.updating = false
	if busy && (result == success || m.KeepGoing) {
		f.state = depsRunning
		return success
	}
	if busy {
		f.state = depsRunning
		return result
	}
	f.state = notStarted
	if result != success {
		f.status = result
		m.notice(f)
		if depth == 0 && m.KeepGoing && !m.DryRun && !m.Question && result == failed {
			m.complain(position{}, "Target '%s' not remade because of errors.", f.name)
		}
		return result
	}
	changed := false
	for _, d := range f.deps {
		t := m.time(d.f)
		if !d.order {
			if t == noTime && !d.f.intermediate {
				must = true
			}
			changed = changed || d.changed
		}
		d.changed = d.changed || absent || t > this
		if !absent && t > this && !d.order {
			m.debug(depth, " Prerequisite '%s' is newer than target '%s'.", d.f.name, f.name)
		}
	}
	switch {
	case must:
		m.debug(depth, "Must remake target '%s'.", f.name)
	case !absent && f.target && !changed && f.recipe == nil:
		must = false
	case f.recipe != nil && m.AlwaysMake && !m.rebuilding:
		must = true
	}
	if !must {
		m.notice(f)
		return success
	}
	if f.name != f.hname { // what was found elsewhere is made here
		f.name, f.stated = f.hname, false
		if st, err := m.p.Stat(f.name); err == nil {
			f.mtime, f.stated = st.Mtime, true
		} else {
			f.mtime, f.stated = noTime, true
		}
	}
	m.remake(f)
	if f.state != finished {
		return success
	}
	return f.status
}

// adoptChild makes the variables of a target known to its prerequisite, unless that has begun.
func (m *Make) adoptChild(f, parent *file) {
	if f.state == notStarted && !f.updated {
		f.parent = parent
	}
}

// check says by must whether a prerequisite makes it necessary to make the file that needs it, and brings it up to
// date.
func (m *Make) check(f *file, depth int, this int64, must *bool) status {
	f.updating = true
	defer func() { f.updating = false }()
	if f.phony || !f.intermediate {
		f.updating = false
		s := m.update(f, depth)
		if t := m.time(f); t == noTime || t > this {
			*must = true
		}
		return s
	}
	m.linkScope(f)
	if f.recipe == nil && !f.triedImplicit {
		m.implicit(f)
	}
	m.lateDeps(f)
	if t := m.time(f); t != noTime && t > this {
		*must = true
	}
	result, busy := success, false
	if f.updated {
		return f.status
	}
	for i := 0; i < len(f.deps); i++ {
		d := f.deps[i]
		if d.f.updating {
			m.complain(position{}, "Circular %s <- %s dependency dropped.", f.name, d.f.name)
			f.deps = slices.Delete(f.deps, i, i+1)
			i--
			continue
		}
		m.adoptChild(d.f, f)
		maybe := *must
		s := m.check(d.f, depth+1, this, &maybe)
		if !d.order {
			*must = maybe
		}
		result = max(result, s)
		if s != success && !m.KeepGoing {
			break
		}
		busy = busy || d.f.isRunning()
	}
	if busy {
		f.state = depsRunning
	} else if f.state == depsRunning {
		f.state = notStarted
	}
	if m.time(f) != noTime && result == success && !busy {
		// One that exists is made anew only if something it needs is newer than it.
		for _, d := range f.deps {
			if t := m.time(d.f); !d.order && (t == noTime || t > m.time(f)) {
				*must = true
			}
		}
	}
	return result
}

// remake makes a file.
func (m *Make) remake(f *file) {
	if f.recipe == nil {
		switch {
		case f.phony, f.target:
		default:
			if !m.rebuilding || !f.dontCare {
				m.noRule(f)
			}
			f.status = failed
		}
		if f.status == success {
			f.stated = false
			if m.time(f) == noTime && !f.phony {
				f.mtime = newTime
			}
		}
		m.notice(f)
		return
	}
	if m.Touch && !slices.ContainsFunc(f.recipe.lines, func(l recipeLine) bool { return recurses(l.text) }) {
		m.touch(f)
		m.notice(f)
		return
	}
	m.startJob(f)
}

func (m *Make) noRule(f *file) {
	if f.dontCare && m.rebuilding {
		return
	}
	m.missingMakefile()
	needed := ""
	if f.parent != nil {
		needed = ", needed by '" + f.parent.name + "'"
	}
	if m.KeepGoing {
		m.complain(position{}, "*** No rule to make target '%s'%s.", f.name, needed)
		return
	}
	m.complain(position{}, "*** No rule to make target '%s'%s.  Stop.", f.name, needed)
	if !m.rebuilding {
		panic(fatal{2})
	}
}

// touch is -t.
func (m *Make) touch(f *file) {
	if f.phony {
		return
	}
	if !m.Silent {
		m.p.Out.WriteString("touch " + f.name + "\n")
	}
	m.started++
	f.made = true
	if m.DryRun {
		return
	}
	if err := m.createOrTouch(f.name); err != nil {
		m.complain(position{}, "touch: %s: %s", f.name, err)
		f.status = failed
	}
	f.stated = false
}

// notice marks a file as finished.
func (m *Make) notice(f *file) {
	ran := f.state == running
	f.state, f.updated = finished, true
	if ran && !f.phony {
		f.stated = false
		if (m.DryRun || m.Question) && f.status == success && !slices.ContainsFunc(f.recipe.lines,
			func(l recipeLine) bool { return recurses(l.text) }) {
			f.mtime, f.stated = newTime, true
		}
	}
	if !ran {
		return
	}
	for _, g := range f.also {
		g.state, g.updated, g.status, g.made = finished, true, f.status, true
		if !g.phony {
			g.stated = f.mtime == newTime && f.stated
			g.mtime = f.mtime
		}
	}
	if f.doubleColon && len(f.chain) > 0 {
		for _, c := range f.chain {
			if c != f {
				c.stated = false
			}
		}
	}
}

// removeTemporary deletes the intermediate files that were made.
func (m *Make) removeTemporary() {
	if m.Question || m.Touch || m.secondAll {
		return
	}
	var names []string
	for _, f := range m.temporary {
		if !f.intermediate || f.secondary || f.precious {
			continue
		}
		if !m.DryRun {
			if _, err := m.p.Stat(f.name); err != nil {
				continue
			}
			if err := m.p.FS.Unlink(m.p.Abs(f.name)); err != nil {
				continue
			}
		}
		names = append(names, f.name)
	}
	if len(names) > 0 && !m.Silent {
		m.p.Out.WriteString("rm " + strings.Join(names, " ") + "\n")
	}
}

func (m *Make) debug(depth int, format string, args ...any) {
	if m.Debug {
		m.p.Out.WriteString(strings.Repeat(" ", depth))
		m.printf(format+"\n", args...)
	}
}
