package shell

import (
	"maps"
	"slices"
)

// Session is what else of a shell lives on when an exec asks for it: options, functions and aliases.
type Session struct {
	Set       []string                   `json:"set,omitempty"`   // names of set -o that are on
	Shopt     []string                   `json:"shopt,omitempty"` // names of shopt that are on
	Functions map[string]SessionFunction `json:"functions,omitempty"`
	Aliases   map[string]string          `json:"aliases,omitempty"`
}

// SessionFunction is a function as it was written.
type SessionFunction struct {
	Source   string `json:"source"`
	Exported bool   `json:"exported,omitempty"`
	Readonly bool   `json:"readonly,omitempty"`
}

// MaxSession bounds the bytes of names and texts that a session keeps.
const MaxSession = 256 << 10

// unkept are the options that only make sense within one exec: with noexec or onecmd no later script could turn them
// off again.
var unkept = map[byte]bool{'n': true, 't': true}

func (s *Session) size() int {
	n := 0
	for _, name := range s.Set {
		n += len(name)
	}
	for _, name := range s.Shopt {
		n += len(name)
	}
	for name, f := range s.Functions {
		n += len(name) + len(f.Source)
	}
	for name, text := range s.Aliases {
		n += len(name) + len(text)
	}
	return n
}

// resume takes up a session. What does not parse (a row may have been edited) is left out.
func (sh *Shell) resume(s *Session) {
	if s == nil {
		return
	}
	for _, o := range setNames {
		if !unkept[o.letter] {
			sh.setOption(o.letter, slices.Contains(s.Set, o.name))
		}
	}
	for i, name := range shoptNames {
		sh.opts.setShopt(shoptIndex(i), slices.Contains(s.Shopt, name))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Functions)) {
		f := s.Functions[name]
		sh.checkSize(f.Source)
		prog := parse(f.Source, reading{step: sh.readStep, extglob: true})
		if prog.err != nil || len(prog.groups) != 1 || len(prog.groups[0]) != 1 {
			continue
		}
		d, ok := prog.groups[0][0].cmd.(*funcDecl)
		if !ok || d.name != name {
			continue
		}
		sh.ownFuncs()[name] = &funcDef{name: name, body: d.body, source: "environment", line: d.line, src: d.src,
			exported: f.Exported}
		if f.Readonly {
			if sh.readonlyFuncs == nil {
				sh.readonlyFuncs = map[string]bool{}
			}
			sh.readonlyFuncs[name] = true
		}
	}
	if len(s.Aliases) > 0 {
		sh.aliases = maps.Clone(s.Aliases)
		for n, text := range s.Aliases {
			sh.hold(int64(len(n) + len(text)))
		}
	}
}

// session collects what the next exec of the session resumes. When it is too much, the one before stays.
func (sh *Shell) session(before *Session, debug bool) *Session {
	s := &Session{Aliases: maps.Clone(sh.aliases)}
	for _, o := range setNames {
		if sh.opts.get(o.letter) && !unkept[o.letter] && !(debug && o.letter == 'x') {
			s.Set = append(s.Set, o.name)
		}
	}
	for i, name := range shoptNames {
		if sh.opts.shopt(shoptIndex(i)) {
			s.Shopt = append(s.Shopt, name)
		}
	}
	if len(sh.funcs) > 0 {
		s.Functions = make(map[string]SessionFunction, len(sh.funcs))
		for name, f := range sh.funcs {
			s.Functions[name] = SessionFunction{Source: f.src, Exported: f.exported, Readonly: sh.readonlyFuncs[name]}
		}
	}
	if n := s.size(); n > MaxSession {
		if d := sh.fds.get(2); d != nil {
			// The shell's own context is over by now.
			_, _ = d.write(sh.x.ctx, []byte("bash: session: "+itoa(n)+" bytes of functions and aliases are more than "+
				itoa(MaxSession)+": not kept\n"))
		}
		return before
	}
	return s
}
