package makefile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// Version is the version of GNU make that this one follows.
const Version = "4.3"

// Options are those of the command line.
type Options struct {
	AlwaysMake     bool
	Environment    bool // variables of the environment override makefiles
	IgnoreErrors   bool
	KeepGoing      bool
	DryRun         bool
	PrintDatabase  bool
	Question       bool
	NoBuiltinRules bool
	NoBuiltinVars  bool
	Silent         bool
	Touch          bool
	PrintDir       bool // -w
	NoPrintDir     bool
	WarnUndefined  bool
	Trace          bool
	Debug          bool
	Jobs           int // 0: one, not given
	Sync           string
	Files          []string // -f
	Include        []string // -I
	Old            []string // -o
	New            []string // -W
	Eval           []string // -E
	Goals          []string
	Assignments    []string // NAME=value
	Command        string   // what make was called as
	Chdir          bool     // -C was given
}

// most is how many jobs run at once, whatever -j says: each costs the exec several goroutines.
const (
	most       = 32
	mostNested = 4
)

// Make is one run of make.
type Make struct {
	Options
	ctx   context.Context
	p     *proc.Process
	name  string // for messages: make, or make[1]
	level int

	global    *scope
	scope     *scope // of the expansion that runs
	at        position
	memory    *memory
	patVars   []*patternVariable
	exportAll bool
	exporting bool // an environment is made
	depth     int

	files      map[string]*file
	order      []*file
	rules      []*rule
	cancelled  map[string]bool // builtin rules that a makefile has removed
	suffixes   []string
	vpaths     []vpath
	makefiles  []*makefileGoal
	fallback   *file // .DEFAULT
	second     bool  // .SECONDEXPANSION was seen
	oneShell   bool
	noParallel bool
	silentAll  bool
	ignoreAll  bool
	deleteErr  bool
	secondAll  bool // .SECONDARY without prerequisites
	preciousP  []string
	builtin    bool // the builtin rules are read

	rebuilding bool
	remaking   *makefileGoal
	skewed     bool     // the time of a file is in the future
	expanded   position // of the variable that is expanded
	pass       int
	started    int // commands
	slots      int
	waiting    []*job // for a slot
	running    []*job
	ended      chan *job
	temporary  []*file // intermediate files that were made
}

// position is a line of a makefile, for messages.
type position struct {
	file string
	line int
}

func (p position) String() string { return p.file + ":" + strconv.Itoa(p.line) }

// fatal unwinds a run that cannot go on.
type fatal struct{ status int }

// New is a run with the options.
func New(ctx context.Context, p *proc.Process, o Options) *Make {
	m := &Make{Options: o, ctx: ctx, p: p, files: map[string]*file{}, cancelled: map[string]bool{}, slots: 1,
		ended: make(chan *job, most), memory: &memory{}}
	m.global = &scope{vars: map[string]*variable{}}
	m.scope = m.global
	m.level, _ = strconv.Atoi(p.Getenv("MAKELEVEL"))
	m.name = baseName(o.Command)
	if m.level > 0 {
		m.name += "[" + strconv.Itoa(m.level) + "]"
	}
	return m
}

func baseName(s string) string { return s[strings.LastIndexByte(s, '/')+1:] }

// say prints a message of make on standard output.
func (m *Make) say(format string, args ...any) {
	m.p.Out.WriteString(m.name + ": " + fmt.Sprintf(format, args...) + "\n")
}

// complain prints a message on standard error: with the position, or with the name of make.
func (m *Make) complain(at position, format string, args ...any) {
	m.p.Out.Flush()
	prefix := m.name
	if at.file != "" {
		prefix = at.String()
	}
	m.p.Err.WriteString(prefix + ": " + fmt.Sprintf(format, args...) + "\n")
}

// die ends make.
func (m *Make) die(at position, format string, args ...any) {
	m.complain(at, "*** "+format+".  Stop.", args...)
	panic(fatal{2})
}

// where is the place of an error in an expansion: the variable that is expanded, or else the line that is read.
func (m *Make) where() position {
	if m.expanded.file != "" {
		return m.expanded
	}
	return m.at
}

// Run is the whole of make. It returns the exit status.
func (m *Make) Run() (exit int) {
	defer m.releaseAll()
	announced := false
	if (m.PrintDir || m.Chdir && !m.Silent || m.level > 0 && !m.Silent) && !m.NoPrintDir {
		m.PrintDir, announced = true, true
		m.say("Entering directory '%s'", m.p.Dir)
	}
	ctx, cancel := context.WithCancel(m.ctx)
	m.ctx = ctx
	defer func() {
		// No recipe outlives make, however make ends.
		if len(m.running) > 0 {
			cancel()
			for _, j := range m.running {
				if j.child != nil {
					j.child.Wait(m.p)
				}
			}
		}
		cancel()
	}()
	exit = m.guarded(m.main)
	m.guarded(func() int { m.removeTemporary(); return 0 })
	if m.skewed {
		m.complain(position{}, "warning:  Clock skew detected.  Your build may be incomplete.")
	}
	if m.PrintDatabase {
		m.printDatabase()
	}
	if announced {
		m.say("Leaving directory '%s'", m.p.Dir)
	}
	return exit
}

func (m *Make) guarded(f func() int) (exit int) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case fatal:
			exit = r.status
			for len(m.running) > 0 && m.p.Budget.Err() == nil {
				m.reap()
			}
		default:
			panic(r)
		}
	}()
	return f()
}

func (m *Make) main() int {
	if m.Jobs != 0 {
		limit := most
		if m.level > 0 {
			limit = mostNested
		}
		m.slots = min(m.Jobs, limit)
		if m.Jobs < 0 {
			m.slots = limit
		}
	}
	m.defineDefaults()
	for _, text := range m.Eval {
		m.at = position{}
		m.read(text, "", 1)
	}
	m.readBuiltinRules(true)
	m.readMakefiles()
	m.readBuiltinRules(false)
	m.convertSuffixRules()
	if m.noParallel {
		m.slots = 1
	}
	m.at = position{}
	for _, name := range m.Old {
		f := m.file(cleanName(name))
		f.mtime, f.stated, f.old, f.updated = oldTime, true, true, true
	}
	for _, name := range m.New {
		f := m.file(cleanName(name))
		f.mtime, f.stated, f.assumedNew = newTime, true, true
	}
	goals := slices.Clone(m.Goals)
	if len(goals) == 0 {
		goals = m.words(m.expand(m.value(".DEFAULT_GOAL")))
		if len(goals) > 1 {
			m.die(position{}, ".DEFAULT_GOAL contains more than one target")
		}
	}
	if len(goals) == 0 {
		if len(m.makefiles) == 0 && len(m.Eval) == 0 {
			m.die(position{}, "No targets specified and no makefile found")
		}
		m.die(position{}, "No targets")
	}
	list := make([]*goal, len(goals))
	for i, name := range goals {
		f := m.file(cleanName(name))
		f.mentioned = true
		list[i] = &goal{f: f}
	}
	switch s := m.updateGoals(list); {
	case s == failed:
		return 2
	case s == outdated:
		return 1
	}
	return 0
}

// cleanName takes ./ from the front of a name, as make does with every name of a file.
func cleanName(s string) string {
	for len(s) > 2 && s[0] == '.' && s[1] == '/' {
		s = strings.TrimLeft(s[2:], "/")
		if s == "" {
			return "./"
		}
	}
	return s
}

// makefileGoal is a makefile that was read, or is missing.
type makefileGoal struct {
	name     string
	at       position
	optional bool
	missing  bool
	err      error
}

// readMakefiles reads what -f names or the default, and makes those anew that have rules; if one changes, all are read
// again.
func (m *Make) readMakefiles() {
	names := m.Files
	for _, f := range m.words(m.p.Getenv("MAKEFILES")) {
		m.readFile(f, true, position{})
	}
	if len(names) == 0 {
		for _, f := range []string{"GNUmakefile", "makefile", "Makefile"} {
			if _, err := m.p.Stat(f); err == nil {
				names = []string{f}
				break
			}
		}
	}
	for i, f := range names {
		if f == "-" {
			data, err := m.p.ReadAll(m.p.Stdin)
			if err != nil {
				m.die(position{}, "read: %s", proc.Strerror(err))
			}
			m.set("MAKEFILE_LIST", m.value("MAKEFILE_LIST")+" -", originFile, false)
			m.read(string(data), "-", 1)
			m.makefiles = append(m.makefiles, &makefileGoal{name: "-"})
			continue
		}
		m.readFile(f, false, position{})
		names[i] = f
	}
	m.remakeMakefiles()
}

// readFile reads one makefile; at is the include that names it, none for the command line.
func (m *Make) readFile(name string, optional bool, at position) {
	g := &makefileGoal{name: name, at: at, optional: optional}
	m.makefiles = append(m.makefiles, g)
	data, err := m.p.ReadFile(name)
	found := name
	if err != nil && at.file != "" && !strings.HasPrefix(name, "/") {
		for _, dir := range append(slices.Clone(m.Include), "/usr/local/include", "/usr/include") {
			if b, e := m.p.ReadFile(dir + "/" + name); e == nil {
				data, err, found = b, nil, dir+"/"+name
				break
			}
		}
	}
	if err != nil {
		g.missing, g.err = true, err
		if !errors.Is(err, vfs.ENOENT) && !errors.Is(err, vfs.ENOTDIR) && !optional {
			m.die(at, "%s: %s", name, proc.Strerror(err))
		}
		return
	}
	g.name = found
	m.set("MAKEFILE_LIST", m.value("MAKEFILE_LIST")+" "+found, originFile, false)
	if m.depth++; m.depth > 100 {
		m.die(at, "%s: %s", name, vfs.ELOOP)
	}
	before := m.at
	m.read(string(data), found, 1)
	m.at = before
	m.depth--
}

// remakeMakefiles brings the makefiles themselves up to date; if one has changed make begins anew.
func (m *Make) remakeMakefiles() {
	var list []*goal
	for _, g := range slices.Backward(m.makefiles) {
		f := m.files[cleanName(g.name)]
		if f == nil && !g.missing || g.name == "-" {
			continue
		}
		if f == nil {
			f = m.file(cleanName(g.name))
		}
		if f.doubleColon && len(f.deps) == 0 && f.recipe != nil {
			continue
		}
		if g.optional || g.at.file != "" && !g.missing {
			f.dontCare = true
		}
		list = append(list, &goal{f: f, makefile: g})
	}
	if len(list) == 0 {
		return
	}
	dry, question, touch := m.DryRun, m.Question, m.Touch
	m.DryRun, m.Question, m.Touch = false, false, false
	m.rebuilding = true
	builtin := m.rules
	m.readBuiltinRules(false)
	s := m.updateGoals(list)
	m.rules = builtin
	m.rebuilding = false
	m.DryRun, m.Question, m.Touch = dry, question, touch
	changed := false
	for _, g := range list {
		if g.f.made && g.f.status == success {
			changed = true
		}
		if g.makefile.missing && !g.makefile.optional && (!g.f.made || g.f.status != success) {
			panic(fatal{2})
		}
	}
	if s == failed && slices.ContainsFunc(list, func(g *goal) bool {
		return !g.makefile.optional && g.f.status == failed
	}) {
		panic(fatal{2})
	}
	for _, f := range m.order {
		f.parent, f.considered = nil, 0
		if !f.updated {
			f.triedImplicit = f.triedImplicit && f.recipe != nil
		}
	}
	if changed {
		m.restart()
	}
}

// missingMakefile says that the makefile that is remade was not there, before it is said that it cannot be made.
func (m *Make) missingMakefile() {
	if g := m.remaking; m.rebuilding && g != nil && g.missing && !g.optional {
		m.remaking = nil
		m.complain(g.at, "%s: %s", g.name, proc.Strerror(g.err))
	}
}

// restart forgets everything and reads the makefiles again.
func (m *Make) restart() {
	n, _ := strconv.Atoi(m.value("MAKE_RESTARTS"))
	if n > 20 {
		m.die(position{}, "makefiles change for ever")
	}
	fresh := New(m.ctx, m.p, m.Options)
	fresh.slots = m.slots
	fresh.ended = m.ended
	fresh.memory = m.memory
	*m = *fresh
	m.defineDefaults()
	m.set("MAKE_RESTARTS", strconv.Itoa(n+1), originEnvironment, false)
	m.readBuiltinRules(true)
	m.readMakefiles()
}
