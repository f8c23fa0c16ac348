package shell

import (
	"strings"
)

// startFiles says which files bash reads before its script.
type startFiles struct {
	login, norc, noprofile bool
	rc                     string // in the place of ~/.bashrc
}

// interactive reports whether the shell was started with -i; its subshells are not.
func (sh *Shell) interactive() bool { return sh.opts.get('i') && sh.sub == 0 }

// start reads the files of a login shell, of an interactive one, or the one of BASH_ENV.
func (sh *Shell) start(f startFiles) {
	home := sh.str("HOME")
	if sh.opts.get('i') {
		sh.opts.setShopt(expandAliases, true)
		for name, val := range map[string]string{"PS1": `\s-\v\$ `, "PS2": "> "} {
			if _, ok := sh.get(name); !ok {
				sh.store(name, val)
			}
		}
	}
	switch {
	case f.login:
		sh.opts.setShopt(loginShell, true)
		if f.noprofile {
			break
		}
		sh.readStart("/etc/profile")
		names := []string{"/.bash_profile", "/.bash_login", "/.profile"}
		if sh.posix {
			names = names[2:]
		}
		for _, n := range names {
			if sh.readStart(home + n) {
				break
			}
		}
	case sh.posix:
		if env := sh.str("ENV"); sh.opts.get('i') && env != "" {
			sh.readStart(sh.promptExpanded(env))
		}
	case sh.opts.get('i'):
		if f.norc {
			break
		}
		sh.readStart("/etc/bash.bashrc")
		sh.readStart(cmpOr(f.rc, home+"/.bashrc"))
	default:
		if env := sh.str("BASH_ENV"); env != "" {
			sh.readStart(sh.promptExpanded(env))
		}
	}
}

// readStart sources a file if there is one.
func (sh *Shell) readStart(file string) bool {
	st, err := sh.x.fs.Stat(sh.abs(file))
	if err != nil || st.IsDir() {
		return false
	}
	if !strings.Contains(file, "/") {
		file = "./" + file
	}
	builtinSource(sh, []string{"source", file})
	sh.status = 0
	return true
}

// startSession begins what a shell does that takes commands from somebody: prompts, history and history expansion.
func (sh *Shell) startSession() {
	sh.eprint(sh.name + ": cannot set terminal process group (-1): Inappropriate ioctl for device\n" + sh.name +
		": no job control in this shell\n")
	if sh.dash {
		return
	}
	sh.opts.set('Y', true)
	sh.opts.set('H', true)
	for name, val := range map[string]string{"HISTFILE": sh.str("HOME") + "/.bash_history", "HISTSIZE": "500",
		"HISTFILESIZE": "500"} {
		if _, ok := sh.get(name); !ok {
			sh.store(name, val)
		}
	}
	sh.loadHistory()
	sh.history.loaded = len(sh.history.list)
}

// endSession says goodbye and keeps the history.
func (sh *Shell) endSession(login bool) {
	if sh.ctx.Err() != nil {
		return
	}
	if login {
		sh.readStart(sh.str("HOME") + "/.bash_logout")
	}
	if sh.opts.get('Y') && len(sh.history.list) > sh.history.loaded {
		sh.historyFile('w', sh.str("HISTFILE"))
	}
}

// prompt shows the prompt of an interactive shell, after the commands of PROMPT_COMMAND.
func (sh *Shell) prompt(more bool) {
	if !sh.interactive() {
		return
	}
	if more {
		sh.eprint(sh.promptExpanded(sh.str("PS2")))
		return
	}
	if v := sh.lookup("PROMPT_COMMAND"); v != nil && !sh.history.failed {
		for _, c := range v.elements() {
			status := sh.status
			recorded := sh.opts.get('Y')
			sh.opts.set('Y', false)
			sh.evalString(c, sh.line-1)
			sh.opts.set('Y', recorded)
			sh.status = status
		}
	}
	sh.history.failed = false
	sh.eprint(sh.promptExpanded(sh.str("PS1")))
}

// typed takes a line that was read, which begins within the quotes of q: an interactive shell shows it, and its history
// is expanded. A line that cannot be expanded is dropped.
func (sh *Shell) typed(q *quoting, line string) string {
	if sh.interactive() {
		if line == "" {
			sh.eprint("exit\n")
			return line
		}
		sh.commands++
		sh.eprint(strings.TrimSuffix(line, "\n") + "\n")
	}
	if !sh.opts.get('H') || !sh.opts.get('Y') || line == "" {
		return line
	}
	bare, end := strings.CutSuffix(line, "\n")
	q.posix = sh.posix
	if len(q.nested) > 1 { // of a substitution
		for i := 0; i < len(line); {
			i += q.step(line, i)
		}
		return line
	}
	text, failed := sh.expandEvents(bare, q)
	if failed != "" {
		sh.history.failed = true
		if sh.interactive() {
			sh.eprint(sh.name + ": " + failed + "\n")
		} else {
			sh.errorf("%s", failed)
		}
		return ""
	}
	if text == bare {
		return line
	}
	sh.eprint(text + "\n")
	if sh.history.shown {
		sh.history.shown = false
		sh.remember(text)
		return ""
	}
	if end {
		text += "\n"
	}
	return text
}
