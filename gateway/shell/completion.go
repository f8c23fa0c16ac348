package shell

import (
	"maps"
	"slices"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/text/pattern"
)

// completion is what complete remembers of a command.
type completion struct {
	options []string // of -o, in the order of completionOptions
	actions []string // in the order of completionActions
	args    [7]string
	has     [7]bool
}

// completionFlags are the options of complete that take a text, in the order complete -p prints them.
const completionFlags = "GWPSXFC"

var completionOptions = []string{"bashdefault", "default", "dirnames", "filenames", "noquote", "nosort", "nospace",
	"plusdirs"}

// completionActions are the names for -A, with the letters that some have, in the order complete -p prints them.
var completionActions = []struct {
	name   string
	letter byte
}{
	{"alias", 'a'}, {"builtin", 'b'}, {"command", 'c'}, {"directory", 'd'}, {"export", 'e'}, {"file", 'f'}, {"group", 'g'},
	{"job", 'j'},
	{"keyword", 'k'}, {"service", 's'}, {"user", 'u'}, {"variable", 'v'}, {"arrayvar", 0}, {"binding", 0}, {"disabled", 0},
	{"enabled", 0},
	{"function", 0}, {"helptopic", 0}, {"hostname", 0}, {"running", 0}, {"setopt", 0}, {"shopt", 0}, {"signal", 0},
	{"stopped", 0},
}

// Names under which complete -D, -E and -I are remembered.
const (
	completeDefault = "_DefaultCmD_"
	completeEmpty   = "_EmptycmD_"
	completeInitial = "_InitialWorD_"
)

var completeLetters = map[byte]string{'D': completeDefault, 'E': completeEmpty, 'I': completeInitial}

// completionArgs are the parsed arguments of complete and compgen.
type completionArgs struct {
	spec          completion
	names         []string
	print, remove bool
}

func (sh *Shell) completionArgs(name string, args []string) (out completionArgs, status int) {
	var actions, options []string
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		a := args[0]
		args = args[1:]
		if a == "--" {
			break
		}
	letters:
		for i := 1; i < len(a); i++ {
			c := a[i]
			for _, act := range completionActions {
				if act.letter == c {
					actions = append(actions, act.name)
					continue letters
				}
			}
			switch {
			case c == 'p' && name == "complete":
				out.print = true
				continue
			case c == 'r' && name == "complete":
				out.remove = true
				continue
			case strings.IndexByte("DEI", c) >= 0 && name == "complete":
				out.names = append(out.names, completeLetters[c])
				continue
			case strings.IndexByte("oA"+completionFlags, c) < 0:
				return out, sh.usage(name, "-"+string(c))
			}
			val := a[i+1:]
			if val == "" {
				if len(args) == 0 {
					sh.errorf("%s: -%c: option requires an argument", name, c)
					sh.eprint(usageLine(name))
					return out, 2
				}
				val, args = args[0], args[1:]
			}
			switch c {
			case 'o':
				if !slices.Contains(completionOptions, val) {
					sh.errorf("%s: %s: invalid option name", name, val)
					return out, 2
				}
				options = append(options, val)
			case 'A':
				if !slices.ContainsFunc(completionActions, func(x struct {
					name   string
					letter byte
				}) bool {
					return x.name == val
				}) {
					sh.errorf("%s: %s: invalid action name", name, val)
					return out, 2
				}
				actions = append(actions, val)
			default:
				k := strings.IndexByte(completionFlags, c)
				out.spec.args[k], out.spec.has[k] = val, true
			}
			break
		}
	}
	for _, o := range completionOptions {
		if slices.Contains(options, o) {
			out.spec.options = append(out.spec.options, o)
		}
	}
	for _, act := range completionActions {
		if slices.Contains(actions, act.name) {
			out.spec.actions = append(out.spec.actions, act.name)
		}
	}
	out.names = append(out.names, args...)
	return out, 0
}

func builtinComplete(sh *Shell, args []string) int {
	a, status := sh.completionArgs("complete", args[1:])
	if status != 0 {
		return status
	}
	switch {
	case a.remove:
		if len(a.names) == 0 {
			sh.completions = nil
			return 0
		}
		if len(sh.completions) == 0 {
			return 0
		}
		for _, n := range a.names {
			if sh.completions[n] == nil {
				sh.errorf("complete: %s: no completion specification", n)
				status = 1
			}
			sh.ownCompletions()
			delete(sh.completions, n)
		}
	case a.print || len(args) == 1:
		names := a.names
		if len(names) == 0 {
			names = hashOrder(completionOrder(sh.completions), 512)
		}
		for _, n := range names {
			c := sh.completions[n]
			if c == nil {
				sh.errorf("complete: %s: no completion specification", n)
				status = 1
				continue
			}
			sh.out(c.text(n))
		}
	case len(a.names) == 0:
		sh.eprint(usageLine("complete"))
		return 2
	default:
		sh.ownCompletions()
		for _, n := range a.names {
			sh.hold(256)
			sh.completions[n] = &a.spec
		}
	}
	return status
}

// completionOrder gives complete -p the order of bash's hash table.
func completionOrder(m map[string]*completion) map[string]assocValue {
	out := map[string]assocValue{}
	for n := range m {
		out[n] = assocValue{}
	}
	return out
}

// ownCompletions makes the table this shell's own: a subshell shares its parent's until then.
func (sh *Shell) ownCompletions() {
	m := maps.Clone(sh.completions)
	if m == nil {
		m = map[string]*completion{}
	}
	sh.completions = m
}

// text is the command that makes the completion.
func (c *completion) text(name string) string {
	var b strings.Builder
	b.WriteString("complete ")
	for _, o := range c.options {
		b.WriteString("-o " + o + " ")
	}
	for _, n := range c.actions {
		for _, act := range completionActions {
			switch {
			case act.name != n:
			case act.letter != 0:
				b.WriteString("-" + string(act.letter) + " ")
			default:
				b.WriteString("-A " + n + " ")
			}
		}
	}
	for k, f := range []byte(completionFlags) {
		switch {
		case !c.has[k]:
		case f == 'F':
			b.WriteString("-F " + c.args[k] + " ")
		default:
			b.WriteString("-" + string(f) + " " + singleQuote(c.args[k]) + " ")
		}
	}
	switch {
	case name == "":
		b.WriteString("''")
	case name == completeDefault:
		b.WriteString("-D")
	case name == completeEmpty:
		b.WriteString("-E")
	case name == completeInitial:
		b.WriteString("-I")
	default:
		b.WriteString(name)
	}
	return b.String() + "\n"
}

func builtinCompopt(sh *Shell, args []string) int {
	args = args[1:]
	var on, off []string
	for len(args) > 0 && len(args[0]) > 1 && (args[0][0] == '-' || args[0][0] == '+') {
		a := args[0]
		args = args[1:]
		if a == "--" {
			break
		}
		switch a {
		case "-D", "-E", "-I":
			args = append(args, completeLetters[a[1]])
			continue
		case "-o", "+o":
			if len(args) == 0 {
				sh.errorf("compopt: %s: option requires an argument", a)
				sh.eprint(usageLine("compopt"))
				return 2
			}
			if !slices.Contains(completionOptions, args[0]) {
				sh.errorf("compopt: %s: invalid option name", args[0])
				return 2
			}
			if a[0] == '-' {
				on = append(on, args[0])
			} else {
				off = append(off, args[0])
			}
			args = args[1:]
		default:
			return sh.usage("compopt", a[:2])
		}
	}
	if len(args) == 0 {
		sh.errorf("compopt: not currently executing completion function")
		return 1
	}
	status := 0
	for _, n := range args {
		c := sh.completions[n]
		if c == nil {
			sh.errorf("compopt: %s: no completion specification", n)
			status = 1
			continue
		}
		if len(on)+len(off) == 0 {
			s := "compopt "
			for _, o := range completionOptions {
				if slices.Contains(c.options, o) {
					s += "-o " + o + " "
				} else {
					s += "+o " + o + " "
				}
			}
			sh.out(s + n + "\n")
			continue
		}
		d := *c
		d.options = nil
		for _, o := range completionOptions {
			if (slices.Contains(c.options, o) || slices.Contains(on, o)) && !slices.Contains(off, o) {
				d.options = append(d.options, o)
			}
		}
		sh.ownCompletions()
		sh.completions[n] = &d
	}
	return status
}

func builtinCompgen(sh *Shell, args []string) int {
	if len(args) == 1 {
		return 0
	}
	a, status := sh.completionArgs("compgen", args[1:])
	if status != 0 {
		return status
	}
	word := ""
	if len(a.names) > 0 {
		word = a.names[0]
	}
	get := func(c byte) (string, bool) {
		k := strings.IndexByte(completionFlags, c)
		return a.spec.args[k], a.spec.has[k]
	}
	var names []string
	matching := func(list []string) {
		for _, n := range list {
			if strings.HasPrefix(n, word) {
				names = append(names, n)
			}
		}
	}
	for _, act := range a.spec.actions {
		list := sh.completeAction(act, word)
		if act == "file" || act == "directory" {
			names = append(names, list...)
		} else {
			matching(list)
		}
	}
	if g, ok := get('G'); ok {
		names = append(names, sh.glob(g)...)
	}
	if w, ok := get('W'); ok {
		e := expander{sh: sh, split: true}
		c := compiler{step: sh.readStep}
		was := sh.opts
		sh.opts.set('f', true)
		for _, p := range c.loose(w) {
			if l, ok := p.(*litPart); ok {
				e.splitText(l.s)
				continue
			}
			e.parts([]part{p}, false)
		}
		if e.active {
			e.end()
		}
		sh.opts = was
		matching(e.out)
	}
	if f, ok := get('F'); ok {
		sh.errorf("compgen: warning: -F option may not work as you expect")
		if fn := sh.funcs[f]; fn != nil {
			sh.call(fn, []string{f, "compgen", word, ""}, nil)
			if v := sh.lookup("COMPREPLY"); v != nil {
				names = append(names, v.elements()...)
				sh.unsetVar("COMPREPLY")
			}
		} else {
			sh.errorf("compgen: warning: %s: function not found", f)
		}
	}
	if cmd, ok := get('C'); ok {
		sh.errorf("compgen: warning: -C option may not work as you expect")
		prog := sh.parse(cmd+" compgen "+singleQuote(word)+" ''", sh.line-1)
		names = append(names, strings.Split(sh.cmdSubst(&cmdPart{prog: prog, line: sh.line}), "\n")...)
	}
	if x, ok := get('X'); ok {
		not := strings.HasPrefix(x, "!")
		pat := pattern.Compile(strings.ReplaceAll(strings.TrimPrefix(x, "!"), "&", pattern.Quote(word)),
			sh.patternFlags(sh.opts.shopt(nocasematch)), sh.readStep)
		names = slices.DeleteFunc(names, func(n string) bool { return pat.Match(n) != not })
	}
	prefix, _ := get('P')
	suffix, _ := get('S')
	for _, n := range names {
		sh.tick()
		sh.out(prefix + n + suffix + "\n")
	}
	if len(names) == 0 {
		return 1
	}
	return 0
}

// completeAction lists what an action of complete -A offers.
func (sh *Shell) completeAction(action, word string) []string {
	builtinNames := func(disabled bool) []string {
		return slices.DeleteFunc(slices.Sorted(maps.Keys(builtins)),
			func(n string) bool { return sh.disabled[n] != disabled })
	}
	variables := func(has attr) []string {
		return slices.DeleteFunc(sh.varNames(""), func(n string) bool { return has != 0 && sh.lookup(n).attrs&has == 0 })
	}
	switch action {
	case "alias":
		return slices.Sorted(maps.Keys(sh.aliases))
	case "builtin":
		return slices.Sorted(maps.Keys(builtins))
	case "enabled":
		return builtinNames(false)
	case "disabled":
		return builtinNames(true)
	case "command":
		out := append(slices.Sorted(maps.Keys(sh.aliases)), keywords...)
		out = append(out, slices.Sorted(maps.Keys(sh.funcs))...)
		out = append(out, builtinNames(false)...)
		for _, d := range strings.Split(sh.str("PATH"), ":") {
			if es, err := sh.x.fs.ReadDir(sh.abs(d)); err == nil {
				for _, e := range es {
					out = append(out, e.Name)
				}
			}
		}
		return out
	case "file", "directory":
		was := sh.opts
		sh.opts.setShopt(dotglob, strings.HasPrefix(word[strings.LastIndexByte(word, '/')+1:], ".") || word == "" ||
			strings.HasSuffix(word, "/"))
		out := sh.glob(pattern.Quote(word) + "*")
		sh.opts = was
		if action == "directory" {
			out = slices.DeleteFunc(out, func(n string) bool {
				st, err := sh.x.fs.Stat(sh.abs(n))
				return err != nil || !st.IsDir()
			})
		}
		return out
	case "export":
		return variables(aExport)
	case "arrayvar":
		return variables(aArray | aAssoc)
	case "variable":
		return variables(0)
	case "function":
		return slices.Sorted(maps.Keys(sh.funcs))
	case "keyword":
		return keywords
	case "helptopic":
		var out []string
		for _, u := range usages {
			out = append(out, u.Name)
		}
		return out
	case "setopt":
		var out []string
		for _, s := range setNames {
			out = append(out, s.name)
		}
		return out
	case "shopt":
		return shoptNames
	case "signal":
		out := []string{}
		for n := 0; n <= 64; n++ {
			if name := signalName(n); n == 0 {
				out = append(out, name)
			} else if name != "" {
				out = append(out, "SIG"+name)
			}
		}
		return append(out, "DEBUG", "ERR", "RETURN")
	case "user":
		return []string{"root", sh.x.cfg.User.Name}
	case "group":
		return []string{"root", sh.x.cfg.User.Group}
	case "hostname":
		return []string{sh.x.cfg.Hostname}
	case "job", "running":
		var out []string
		for _, j := range sh.jobs {
			if !j.hidden && (action == "job" || j.running()) {
				name, _, _ := strings.Cut(j.src, " ")
				out = append(out, name)
			}
		}
		return out
	}
	return nil
}
