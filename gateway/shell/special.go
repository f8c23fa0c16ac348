package shell

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // TZ must not read the host's zone files

	"github.com/itchyny/timefmt-go"
)

const bashVersion = "5.2.15(1)-release"

func dynString(f func(*Shell) string) func(*Shell) *variable {
	return func(sh *Shell) *variable { return &variable{str: f(sh), attrs: aSet} }
}

func dynArray(f func(*Shell) []string) func(*Shell) *variable {
	return func(sh *Shell) *variable {
		v := f(sh)
		if len(v) == 0 {
			return &variable{attrs: aArray, arr: &indexed{}}
		}
		return &variable{attrs: aArray | aSet, arr: &indexed{dense: v}}
	}
}

// initVars sets up what every shell starts with, once its environment is imported.
func (sh *Shell) initVars() {
	x := sh.x
	set := func(name, val string, attrs attr) {
		sh.vars[name] = &variable{owner: sh, str: val, attrs: aSet | attrs}
	}
	set("IFS", " \t\n", 0)
	sh.ifsChanged, sh.localeChanged = true, true
	if _, ok := sh.get("PS4"); !ok {
		set("PS4", "+ ", 0)
	}
	set("OPTIND", "1", aInteger)
	set("OPTERR", "1", 0)
	set("HOSTNAME", x.cfg.Hostname, 0)
	set("HOSTTYPE", "x86_64", 0)
	set("OSTYPE", "linux-gnu", 0)
	set("MACHTYPE", "x86_64-pc-linux-gnu", 0)
	set("BASH", "/usr/bin/bash", 0)
	set("BASH_VERSION", bashVersion, 0)
	set("UID", strconv.Itoa(int(x.cfg.User.UID)), aReadonly|aInteger)
	set("EUID", strconv.Itoa(int(x.cfg.User.UID)), aReadonly|aInteger)
	set("PPID", itoa(sh.proc.parent), aReadonly|aInteger)
	sh.vars["BASH_VERSINFO"] = &variable{owner: sh, attrs: aSet | aArray | aReadonly,
		arr: &indexed{dense: []string{"5", "2", "15", "1", "release", "x86_64-pc-linux-gnu"}}}
	sh.vars["GROUPS"] = &variable{owner: sh, attrs: aSet | aArray,
		arr: &indexed{dense: []string{strconv.Itoa(int(x.cfg.User.GID))}}}
	level := 1
	if v, ok := sh.get("SHLVL"); ok {
		if n, err := strconv.Atoi(v); err == nil && n >= 0 && n < 999 {
			level = n + 1
		}
	}
	sh.export("SHLVL", itoa(level))
	pwd := sh.dir
	if v, ok := sh.get("PWD"); ok && v != pwd && strings.HasPrefix(v, "/") {
		if a, err := x.fs.Realpath(v); err == nil {
			if b, err := x.fs.Realpath(pwd); err == nil && a == b {
				sh.dir, pwd = v, v
			}
		}
	}
	sh.export("PWD", pwd)
	if _, ok := sh.get("OLDPWD"); !ok {
		sh.own("OLDPWD").attrs |= aExport
	}
	if _, ok := sh.get("PATH"); !ok {
		set("PATH", "/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin:.", 0) // what Debian's bash is built with
	}
	if _, ok := sh.get("SHELL"); !ok {
		set("SHELL", "/bin/bash", 0)
	}
	if _, ok := sh.get("TERM"); !ok {
		set("TERM", "dumb", 0)
	}
	sh.rootPID = sh.proc.pid
	for name, d := range dynamics {
		sh.vars[name] = d
	}
}

// dynamics are the variables computed when they are read. They are shared by all shells and never changed: assigning
// copies or is told to assign.
var dynamics map[string]*variable

func init() {
	ignore := func(*Shell, string) {}
	dynamics = map[string]*variable{
		"LINENO":  {dyn: dynString(func(sh *Shell) string { return itoa(sh.line) }), assign: ignore},
		"BASHPID": {dyn: dynString(func(sh *Shell) string { return itoa(sh.proc.pid) }), assign: ignore},
		"RANDOM": {dyn: dynString(func(sh *Shell) string { return itoa(sh.rand()) }), assign: func(sh *Shell, s string) {
			n, _ := strconv.ParseInt(s, 10, 64)
			sh.random = random{seed: uint32(n), seeded: true}
		}, attrs: aInteger},
		"HISTCMD": {dyn: dynString(func(sh *Shell) string {
			return itoa(sh.history.base + len(sh.history.list))
		}), assign: ignore, attrs: aInteger},
		"SRANDOM": {dyn: dynString(func(*Shell) string { return strconv.FormatUint(uint64(rand.Uint32()), 10) }),
			assign: ignore},
		"EPOCHSECONDS": {dyn: dynString(func(sh *Shell) string { return strconv.FormatInt(sh.x.now().Unix(), 10) }),
			assign: ignore},
		"EPOCHREALTIME": {dyn: dynString(func(sh *Shell) string {
			t := sh.x.now()
			return strconv.FormatInt(t.Unix(), 10) + "." + leftPad(t.Nanosecond()/1000, 6)
		}), assign: ignore},
		"SECONDS": {dyn: dynString(func(sh *Shell) string {
			return strconv.FormatInt(int64(sh.x.now().Sub(sh.seconds)/time.Second)+sh.secOffset, 10)
		}), assign: func(sh *Shell, s string) {
			n, _ := strconv.ParseInt(s, 10, 64)
			sh.seconds, sh.secOffset = sh.x.now(), n
		}, attrs: aInteger},
		"SHELLOPTS": {dyn: dynString(func(sh *Shell) string { return sh.opts.shellOpts() }), assign: ignore,
			attrs: aReadonly},
		"BASHOPTS": {dyn: dynString(func(sh *Shell) string { return sh.opts.bashOpts() }), assign: ignore,
			attrs: aReadonly},
		"BASH_SUBSHELL": {dyn: dynString(func(sh *Shell) string { return itoa(sh.sub) }), assign: ignore},
		"BASH_COMMAND": {dyn: dynString(func(sh *Shell) string {
			if sh.command != nil {
				return commandText(sh.command)
			}
			return ""
		}), assign: ignore},
		"BASH_ARGV0": {dyn: dynString(func(sh *Shell) string { return sh.name }),
			assign: func(sh *Shell, s string) { sh.name = s }},
		"_": {dyn: dynString(func(sh *Shell) string { return sh.lastArg }), assign: func(sh *Shell, s string) {}},
		"PIPESTATUS": {dyn: dynArray(func(sh *Shell) []string {
			if !sh.piped {
				return []string{itoa(sh.pipeOne)}
			}
			out := make([]string, len(sh.pipeStatus))
			for i, s := range sh.pipeStatus {
				out[i] = itoa(s)
			}
			return out
		}), assign: ignore},
		"FUNCNAME": {dyn: dynArray(func(sh *Shell) []string {
			if sh.funcDepth == 0 { // a file that is read has no name
				return nil
			}
			n, _, _ := sh.callStack()
			return n
		}), assign: ignore},
		"BASH_ALIASES": {dyn: func(sh *Shell) *variable { return assocOf(sh.aliases) }, assignKey: (*Shell).setAlias,
			assign: func(sh *Shell, s string) { sh.setAlias("0", s) }, attrs: aAssoc | aSet},
		"BASH_CMDS": {dyn: func(sh *Shell) *variable {
			paths := make(map[string]string, len(sh.hashed))
			for n, h := range sh.hashed {
				paths[n] = h.path
			}
			return assocOf(paths)
		}, assignKey: (*Shell).hashAs, assign: func(sh *Shell, s string) { sh.hashAs("0", s) }, attrs: aAssoc | aSet},
		"BASH_SOURCE": {dyn: dynArray(func(sh *Shell) []string { _, s, _ := sh.callStack(); return s }), assign: ignore},
		"BASH_LINENO": {dyn: dynArray(func(sh *Shell) []string { _, _, l := sh.callStack(); return l }), assign: ignore},
		"DIRSTACK": {dyn: dynArray(func(sh *Shell) []string {
			return sh.stack()
		}), assign: ignore},
		"BASH_ARGC": {dyn: dynArray(func(sh *Shell) []string { c, _ := sh.callArgs(); return c }), assign: ignore},
		"BASH_ARGV": {dyn: dynArray(func(sh *Shell) []string { _, v := sh.callArgs(); return v }), assign: ignore},
	}
	for _, v := range dynamics {
		v.shared = true
	}
}

// callArgs is BASH_ARGC and BASH_ARGV, which are kept up to date for debuggers only.
func (sh *Shell) callArgs() (counts, values []string) {
	if !sh.opts.shopt(extdebug) {
		if sh.opts.get('c') {
			counts = []string{"0"}
		}
		return counts, nil
	}
	args := sh.args
	add := func() {
		counts = append(counts, itoa(len(args)))
		for i := len(args) - 1; i >= 0; i-- {
			values = append(values, args[i])
		}
	}
	for i := len(sh.frames) - 1; i >= 0; i-- {
		if f := sh.frames[i]; f.isFunc {
			add()
			args = f.args
		} else if !f.isTemp {
			counts, values = append(counts, "1"), append(values, f.source)
		}
	}
	add()
	return counts, values
}

// assocOf is a map as an associative array.
func assocOf(m map[string]string) *variable {
	a := newAssoc()
	for _, k := range slices.Sorted(maps.Keys(m)) {
		a.set(k, m[k])
	}
	return &variable{attrs: aAssoc | aSet, assoc: a}
}

// hashAs notes where the program of a name is.
func (sh *Shell) hashAs(name, path string) {
	if sh.hashed == nil {
		sh.hashed = map[string]*hashEntry{}
	}
	if sh.hashed[name] == nil {
		sh.hold(int64(len(name) + len(path) + 64))
	}
	sh.hashed[name] = &hashEntry{path: path}
}

func leftPad(n, w int) string {
	s := itoa(n)
	return strings.Repeat("0", max(w-len(s), 0)) + s
}

// zone is the time zone of $TZ.
func (sh *Shell) zone() *time.Location {
	tz, ok := sh.get("TZ")
	if !ok || tz == "" || tz == "UTC" || tz == "UTC0" {
		return time.UTC
	}
	l, err := time.LoadLocation(strings.TrimPrefix(tz, ":"))
	if err != nil {
		return time.UTC
	}
	return l
}

// trace prints one line of set -x.
func (sh *Shell) trace(s string) {
	ps4 := sh.str("PS4")
	x := sh.opts.get('x')
	sh.opts.set('x', false)
	if strings.ContainsAny(ps4, "$`\\") {
		c := compiler{}
		ps4 = sh.promptString(sh.heredocText(c.loosePrompt(ps4)))
	}
	sh.opts.set('x', x)
	if ps4 != "" && sh.xtrace > 0 {
		r := []rune(ps4)
		ps4 = strings.Repeat(string(r[0]), sh.xtrace) + ps4
	}
	sh.tracePrint(ps4 + s + "\n")
	if sh.traced != nil {
		close(sh.traced)
		sh.traced = nil
	}
}

// tracePrint writes to the descriptor that BASH_XTRACEFD names, and else to standard error.
func (sh *Shell) tracePrint(s string) {
	if n, err := strconv.Atoi(sh.str("BASH_XTRACEFD")); err == nil {
		if d := sh.fds.get(n); d != nil {
			_, _ = d.write(sh.ctx, []byte(s))
			return
		}
	}
	sh.eprint(s)
}

func (c *compiler) loosePrompt(s string) []part {
	var out []part
	start := 0
	for i := 0; i < len(s); {
		if s[i] != '$' && s[i] != '`' {
			i++
			continue
		}
		p, n := c.first(s[i:])
		if n == 0 {
			i++
			continue
		}
		out = append(out, &quotedPart{s[start:i]})
		out = append(out, p...)
		i += n
		start = i
	}
	return append(out, &quotedPart{s[start:]})
}

func (sh *Shell) traceCommand(args []string) {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = traceQuote(a)
	}
	sh.trace(strings.Join(out, " "))
}

func traceQuote2(s string) string {
	if s == "" {
		return ""
	}
	return traceQuote(s)
}

// promptExpanded decodes a prompt and expands what it holds: the text of escapes is not looked at again.
func (sh *Shell) promptExpanded(s string) string {
	if !sh.opts.shopt(promptvars) {
		return sh.promptString(s)
	}
	c := compiler{step: sh.readStep}
	var out []part
	start, text := 0, sh.promptText(s, func(t string) string { return ansiGuard.Replace(t) })
	for i := 0; i < len(text); {
		if text[i] == '\\' && i+1 < len(text) && strings.IndexByte("$`\"\\", text[i+1]) >= 0 {
			out = append(out, &quotedPart{text[start:i]}, &quotedPart{text[i+1 : i+2]})
			i += 2
			start = i
			continue
		}
		if text[i] == '$' || text[i] == '`' {
			if p, n := c.first(text[i:]); n > 0 {
				out = append(append(out, &quotedPart{text[start:i]}), p...)
				i += n
				start = i
				continue
			}
		}
		i++
	}
	return sh.heredocText(append(out, &quotedPart{text[start:]}))
}

// ansiGuard keeps the text of an escape from being expanded.
var ansiGuard = strings.NewReplacer("$", `\$`, "`", "\\`", `\`, `\\`)

// promptString decodes the escapes of prompts.
func (sh *Shell) promptString(s string) string {
	return sh.promptText(s, func(t string) string { return t })
}

// trimmed is the working directory as prompts show it, cut to PROMPT_DIRTRIM components.
func (sh *Shell) trimmed() string {
	d := sh.homely(sh.dir)
	n, err := strconv.Atoi(sh.str("PROMPT_DIRTRIM"))
	if err != nil || n <= 0 {
		return d
	}
	head, rest := "", d
	if strings.HasPrefix(d, "~") {
		head, rest = d[:1], d[1:]
	}
	at := len(rest)
	for range n {
		if at = strings.LastIndexByte(rest[:max(at, 0)], '/'); at <= 0 {
			return d
		}
	}
	if at <= len("/...") {
		return d
	}
	if head != "" {
		head += "/"
	}
	return head + "..." + rest[at:]
}

// promptText decodes escapes; what an escape stands for goes through shown.
func (sh *Shell) promptText(s string, shown func(string) string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	now := sh.x.now().In(sh.zone())
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 >= len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch c := s[i]; c {
		case 'a':
			b.WriteByte(7)
		case 'e':
			b.WriteByte(27)
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case '\\':
			b.WriteByte('\\')
		case 'u':
			b.WriteString(shown(sh.x.cfg.User.Name))
		case 'h':
			h, _, _ := strings.Cut(sh.x.cfg.Hostname, ".")
			b.WriteString(shown(h))
		case 'H':
			b.WriteString(shown(sh.x.cfg.Hostname))
		case 'w':
			b.WriteString(shown(sh.trimmed()))
		case 'W':
			d := sh.homely(sh.dir)
			if k := strings.LastIndexByte(d, '/'); k >= 0 && len(d) > 1 {
				d = d[k+1:]
			}
			b.WriteString(shown(d))
		case '$':
			if sh.x.cfg.User.UID == 0 {
				b.WriteByte('#')
			} else {
				b.WriteString(shown("$"))
			}
		case 's':
			b.WriteString("bash")
		case 'v':
			b.WriteString("5.2")
		case 'V':
			b.WriteString("5.2.15")
		case 't':
			b.WriteString(timefmt.Format(now, "%H:%M:%S"))
		case 'T':
			b.WriteString(timefmt.Format(now, "%I:%M:%S"))
		case '@':
			b.WriteString(timefmt.Format(now, "%I:%M %p"))
		case 'A':
			b.WriteString(timefmt.Format(now, "%H:%M"))
		case 'd':
			b.WriteString(timefmt.Format(now, "%a %b %d"))
		case 'D':
			end := strings.IndexByte(s[i:], '}')
			if !strings.HasPrefix(s[i+1:], "{") || end < 0 {
				b.WriteString(`\D`)
				break
			}
			b.WriteString(shown(timefmt.Format(now, cmpOr(s[i+2:i+end], "%H:%M:%S"))))
			i += end
		case 'j':
			b.WriteString(itoa(len(sh.jobs)))
		case 'l':
			b.WriteString("tty")
		case '!':
			b.WriteString(itoa(sh.history.base + len(sh.history.list) + 1))
		case '#':
			b.WriteString(itoa(sh.commands))
		case '[', ']':
		case '0', '1', '2', '3', '4', '5', '6', '7':
			n, v := digits(s[i:], 8, 3)
			b.WriteByte(byte(v))
			i += n - 1
		default:
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	return b.String()
}
