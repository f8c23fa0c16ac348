package makefile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/vfs"
)

func (m *Make) printf(format string, args ...any) { fmt.Fprintf(m.p.Out, format, args...) }

// command is a line of a recipe, expanded.
type command struct {
	text                      string
	line                      int
	silent, ignore, recursive bool
}

// job is a recipe that runs.
type job struct {
	f        *file
	commands []command
	next     int
	scope    *scope
	env      proc.Variables
	child    *proc.Running
	out      *proc.Buffer // -O
	errs     *proc.Buffer
}

// recurses reports whether a line is run even when nothing is to be run.
func recurses(s string) bool {
	if strings.Contains(s, "$(MAKE)") || strings.Contains(s, "${MAKE}") {
		return true
	}
	for i := 0; i < len(s) && strings.IndexByte("@-+ \t", s[i]) >= 0; i++ {
		if s[i] == '+' {
			return true
		}
	}
	return false
}

// prefixes takes what may stand before a command off it.
func (c *command) prefixes() {
	for c.text != "" {
		switch c.text[0] {
		case '@':
			c.silent = true
		case '-':
			c.ignore = true
		case '+':
			c.recursive = true
		case ' ', '\t', '\n':
		default:
			return
		}
		c.text = c.text[1:]
	}
}

// startJob expands the recipe of a file and begins to run it.
func (m *Make) startJob(f *file) {
	m.automaticVariables(f)
	j := &job{f: f, scope: m.ownScope(f)}
	oldScope, oldAt := m.scope, m.at
	m.scope = j.scope
	lines := f.recipe.lines
	oneShell := m.oneShell && len(lines) > 1
	if oneShell {
		lines = []recipeLine{{joinLines(lines), f.recipe.lines[0].line}}
	}
	for _, l := range lines {
		m.at = position{f.recipe.at.file, l.line}
		base := command{text: l.text, line: l.line, recursive: recurses(l.text)}
		base.prefixes()
		text := m.expand(base.text)
		parts := []string{text}
		if !oneShell {
			parts = splitCommands(text)
		}
		for _, t := range parts {
			c := base
			c.text = t
			c.prefixes()
			if c.text != "" {
				j.commands = append(j.commands, c)
			}
		}
	}
	f.state = running
	if len(j.commands) > 0 && m.Trace {
		why := "target '" + f.name + "' does not exist"
		if newer := m.scope.vars["?"].value; newer != "" {
			why = "update target '" + f.name + "' due to: " + newer
		} else if m.time(f) != noTime {
			why = "update target '" + f.name + "' due to: " + newer
		}
		m.printf("%s: %s\n", f.recipe.at, why)
	}
	if len(j.commands) > 0 {
		j.env = m.environment()
	}
	m.scope, m.at = oldScope, oldAt
	for m.slots > 1 && len(m.running) >= m.slots {
		m.reap()
	}
	if m.Sync != "" && m.Sync != "none" && m.slots > 1 {
		j.out, j.errs = proc.NewBuffer(m.p), proc.NewBuffer(m.p)
	}
	m.advance(j)
}

// joinLines is the recipe of .ONESHELL: what stands before commands counts in the first line, and is removed elsewhere
// for shells.
func joinLines(lines []recipeLine) string {
	var b strings.Builder
	for i, l := range lines {
		if i > 0 {
			b.WriteByte('\n')
			b.WriteString(strings.TrimLeft(l.text, "@-+ \t"))
			continue
		}
		b.WriteString(l.text)
	}
	return b.String()
}

// splitCommands splits at newlines that no backslash stands before.
func splitCommands(s string) []string {
	if strings.IndexByte(s, '\n') < 0 {
		return []string{s}
	}
	var out []string
	from := 0
	for i := 0; i < len(s); i++ {
		if s[i] == '\n' && !continues(s[from:i]) {
			out = append(out, s[from:i])
			from = i + 1
		}
	}
	return append(out, s[from:])
}

// advance runs the commands of a job: all of them, or the next one when jobs run beside each other.
func (m *Make) advance(j *job) {
	f := j.f
	for j.next < len(j.commands) {
		c := j.commands[j.next]
		j.next++
		if m.Question && !c.recursive {
			f.status = outdated
			m.finish(j)
			return
		}
		if m.Touch && !c.recursive {
			continue
		}
		if m.DryRun || m.Trace || !c.silent && !m.Silent && !m.silentAll && j.scope.vars[".SILENT"] == nil {
			m.print(j, c.text+"\n")
		}
		m.started++
		f.made = true
		if m.DryRun && !c.recursive {
			continue
		}
		child, ok := m.child(j, c)
		if !ok {
			if m.failure(j, 127) {
				m.finish(j)
				return
			}
			continue
		}
		if m.slots > 1 {
			m.p.Out.Flush()
			m.running = append(m.running, j)
			j.child = m.p.Start(m.ctx, child, func() { m.ended <- j })
			return
		}
		if status := m.p.Exec(m.ctx, child); status != 0 && m.failure(j, status) {
			m.finish(j)
			return
		}
	}
	m.finish(j)
}

func (m *Make) print(j *job, s string) {
	if j.out != nil {
		_, _ = j.out.WriteString(s)
		return
	}
	m.p.Out.WriteString(s)
}

// reap waits for a job's command and goes on with the job.
func (m *Make) reap() {
	m.p.Pause()
	j := <-m.ended
	status := j.child.Wait(m.p)
	j.child = nil
	m.p.Tick(256)
	m.running = slices.DeleteFunc(m.running, func(o *job) bool { return o == j })
	if status != 0 && m.failure(j, status) {
		m.finish(j)
		return
	}
	m.advance(j)
}

// failure says that a command has failed; false when that is to be ignored.
func (m *Make) failure(j *job, code int) bool {
	m.p.Tick(1)
	f := j.f
	c := j.commands[j.next-1]
	if m.Question && c.recursive && code == 1 {
		f.status = outdated
		return true
	}
	ignore := c.ignore || m.IgnoreErrors || m.ignoreAll || f.ignoredFailure
	pre, post := "*** ", ""
	if ignore {
		pre, post = "", " (ignored)"
	}
	at := "<builtin>"
	if f.recipe.at.file != "" {
		at = position{f.recipe.at.file, c.line}.String()
	}
	if !ignore {
		m.missingMakefile()
	}
	text := fmt.Sprintf("%s[%s: %s] Error %d%s", pre, at, f.name, code, post)
	if j.errs != nil {
		_, _ = j.errs.WriteString(m.name + ": " + text + "\n")
	} else {
		m.complain(position{}, "%s", text)
	}
	if ignore {
		return false
	}
	f.status = failed
	if m.deleteErr && !f.precious && !f.phony {
		before := f.mtime
		if st, err := m.p.Stat(f.name); err == nil && st.Kind == vfs.Regular && (!f.stated || st.Mtime != before) {
			m.complain(position{}, "*** Deleting file '%s'", f.name)
			_ = m.p.FS.Unlink(m.p.Abs(f.name))
		}
	}
	return true
}

// finish ends a job.
func (m *Make) finish(j *job) {
	if j.out != nil {
		m.p.Out.Write(j.out.Bytes())
		m.p.Out.Flush()
		m.p.Err.Write(j.errs.Bytes())
		m.p.Release(j.out.Len() + j.errs.Len())
	}
	f := j.f
	if f.intermediate && f.before == noTime && f.made {
		m.temporary = append(m.temporary, f)
	}
	m.notice(f)
}

// child is the process of a command: the program itself where no shell is needed. false says that there is no such
// program.
func (m *Make) child(j *job, c command) (*proc.Process, bool) {
	old := m.scope
	m.scope = j.scope
	defer func() { m.scope = old }()
	child, err := m.process(c.text, m.oneShell && len(j.f.recipe.lines) > 1)
	if err != "" {
		if j.errs != nil {
			_, _ = j.errs.WriteString(m.name + ": " + err + "\n")
		} else {
			m.complain(position{}, "%s", err)
		}
		return nil, false
	}
	child.Env = j.env
	if j.out != nil {
		child.Stdout, child.Stderr = j.out, j.errs
	}
	withStreams(child, m.p)
	return child, true
}

// withStreams gives a child the descriptors that it has.
func withStreams(c, p *proc.Process) {
	parent := p.FD
	c.FD = func(n int) (any, bool) {
		switch {
		case n == 0:
			return c.Stdin, true
		case n == 1:
			return c.Stdout, true
		case n == 2:
			return c.Stderr, true
		case parent == nil:
			return nil, false
		}
		return parent(n)
	}
}

// process makes a process of a command line; the text says why there is none.
func (m *Make) process(text string, shell bool) (*proc.Process, string) {
	sh := strings.TrimSpace(m.variableValue("SHELL"))
	flags := m.words(m.variableValue(".SHELLFLAGS"))
	if sh == "" {
		sh = "/bin/sh"
	}
	standard := sh == "/bin/sh" && len(flags) == 1 && flags[0] == "-c"
	if standard && !shell {
		if argv, ok := simple(text); ok {
			child := m.p.Child(argv...)
			probe := m.p.Child(argv...)
			if _, err := probe.LookPath(argv[0]); err != nil {
				if e, ok := vfs.Of(err); ok {
					return nil, argv[0] + ": " + e.Error()
				}
				return nil, argv[0] + ": " + err.Error()
			}
			return child, ""
		}
	}
	args := append(append(m.words(sh), flags...), text)
	child := m.p.Child(args...)
	if _, err := child.LookPath(args[0]); err != nil {
		return nil, args[0] + ": " + proc.Strerror(err)
	}
	return child, ""
}

// shellWords are what only a shell can run.
var shellWords = strings.Fields(". : alias bg break case cd command continue eval exec exit export fc fg for getopts hash if jobs login logout read readonly return set " +
	"shift test times trap type ulimit umask unalias unset wait while")

// simple splits a command that needs no shell into its words.
func simple(s string) ([]string, bool) {
	var argv []string
	var word strings.Builder
	in := false
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\'':
			end := strings.IndexByte(s[i+1:], '\'')
			if end < 0 {
				return nil, false
			}
			part := s[i+1 : i+1+end]
			if strings.Contains(part, "\\\n") {
				return nil, false
			}
			word.WriteString(part)
			in = true
			i += end + 1
		case c == '\\':
			if i+1 == len(s) {
				return nil, false
			}
			i++
			if s[i] == '\n' {
				continue
			}
			word.WriteByte(s[i])
			in = true
		case strings.IndexByte("#;\"*?[]&|<>(){}$`^~!\n", c) >= 0:
			return nil, false
		case c == '=' && len(argv) == 0:
			return nil, false
		case isBlank(c):
			if in {
				argv = append(argv, word.String())
				word.Reset()
				in = false
			}
		default:
			word.WriteByte(c)
			in = true
		}
	}
	if in {
		argv = append(argv, word.String())
	}
	if len(argv) == 0 || slices.Contains(shellWords, argv[0]) {
		return nil, false
	}
	return argv, true
}

// shellOutput is the shell function: the output of a command, with spaces for newlines.
func (m *Make) shellOutput(text string) string {
	text = trimLeft(text)
	if text == "" {
		return ""
	}
	child, err := m.process(text, false)
	status := 127
	result := ""
	if err != "" {
		m.complain(position{}, "%s", err)
	} else {
		out := proc.NewBuffer(m.p)
		child.Stdout = out
		child.Env = m.p.Variables()
		withStreams(child, m.p)
		status = m.p.Exec(m.ctx, child)
		m.p.Tick(1 + out.Len()>>10)
		defer m.p.Release(out.Len())
		result = strings.ReplaceAll(strings.TrimRight(strings.ReplaceAll(out.String(), "\r\n", "\n"), "\n"), "\n", " ")
	}
	m.global.vars[".SHELLSTATUS"] = &variable{name: ".SHELLSTATUS", value: itoa(status), origin: originOverride}
	return result
}

func (m *Make) createOrTouch(name string) error {
	f, err := m.p.Open(name, vfs.WriteOnly|vfs.Create, 0o666)
	if err != nil {
		return err
	}
	_ = f.Close()
	return m.p.FS.Utimes(m.p.Abs(name), m.p.Now().UnixNano(), true)
}
