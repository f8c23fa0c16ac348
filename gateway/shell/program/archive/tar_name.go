package archive

import (
	"bytes"
	"cmp"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/shell/text/regex"
)

type tarTransform struct {
	re     *regex.Regexp
	repl   string
	global bool
	nth    int
	scope  string // flags of what it holds for: r, s and h; capital letters take away
}

// covers reports whether the transformation holds for a regular name, the target of a symlink or that of a hard link.
func (x tarTransform) covers(kind byte) bool {
	on := true
	for _, c := range []byte(x.scope) {
		switch c {
		case kind:
			on = true
		case kind - 'a' + 'A':
			on = false
		}
	}
	return on
}

func (t *tarRun) badTransform() {
	t.status = t.usage("Invalid transform expression")
	panic(tarStop{})
}

// transform parses s/re/repl/flags, several joined by semicolons.
func (t *tarRun) transform(expr string) {
	base := "" // of the flags
	for expr != "" {
		if set, rest, ok := strings.Cut(strings.TrimPrefix(expr, "flags="), ";"); strings.HasPrefix(expr, "flags=") {
			if base = "RSH" + set; !ok {
				return
			}
			expr = rest
			continue
		}
		if len(expr) < 4 || expr[0] != 's' {
			t.badTransform()
		}
		sep := expr[1]
		var parts []string
		i, from := 2, 2
		for ; i < len(expr) && len(parts) < 2; i++ {
			switch expr[i] {
			case '\\':
				i++
			case sep:
				parts = append(parts, expr[from:i])
				from = i + 1
			}
		}
		if len(parts) < 2 {
			t.badTransform()
		}
		flags := expr[i:]
		expr = ""
		if j := strings.IndexByte(flags, ';'); j >= 0 {
			flags, expr = flags[:j], flags[j+1:]
		}
		re, err := regex.Compile(parts[0], regex.Options{Dialect: regex.Sed, Extended: strings.Contains(flags, "x"),
			IgnoreCase: strings.Contains(flags, "i")})
		if err != nil {
			t.badTransform()
		}
		re.SetTick(t.p.Tick)
		nth, _ := strconv.Atoi(strings.TrimFunc(flags, func(r rune) bool { return r < '0' || r > '9' }))
		t.transforms = append(t.transforms, tarTransform{re, parts[1], strings.Contains(flags, "g"), nth, base + flags})
	}
}

func (x tarTransform) apply(s string) string {
	var out []byte
	pos, b, count := 0, []byte(s), 0
	for pos <= len(b) {
		loc := x.re.FindSubmatchIndex(b, pos)
		if loc == nil {
			break
		}
		count++
		out = append(out, b[pos:loc[0]]...)
		if count < x.nth {
			out = append(out, b[loc[0]:loc[1]]...)
		} else {
			out = x.replace(out, b, loc)
		}
		end := loc[1]
		if end == loc[0] {
			if end == len(b) {
				return string(out)
			}
			out = append(out, b[end])
			end++
		}
		pos = end
		if !x.global && count >= x.nth {
			break
		}
	}
	return string(append(out, b[min(pos, len(b)):]...))
}

// replace appends the replacement of a match: \\U, \\L, \\u, \\l and \\E change its case.
func (x tarTransform) replace(out, b []byte, loc []int) []byte {
	whole, once := byte(0), byte(0)
	put := func(text []byte) {
		switch whole {
		case 'U':
			text = bytes.ToUpper(text)
		case 'L':
			text = bytes.ToLower(text)
		}
		if once != 0 && len(text) > 0 {
			first := bytes.ToUpper(text[:1])
			if once == 'l' {
				first = bytes.ToLower(text[:1])
			}
			text = append(first, text[1:]...)
			once = 0
		}
		out = append(out, text...)
	}
	for i := 0; i < len(x.repl); i++ {
		c := x.repl[i]
		switch {
		case c == '&':
			put(b[loc[0]:loc[1]])
		case c != '\\' || i+1 == len(x.repl):
			put([]byte{c})
		default:
			i++
			switch c := x.repl[i]; {
			case c >= '0' && c <= '9':
				if g := int(c - '0'); 2*g+1 < len(loc) && loc[2*g] >= 0 {
					put(b[loc[2*g]:loc[2*g+1]])
				}
			case c == 'U' || c == 'L':
				whole = c
			case c == 'u' || c == 'l':
				once = c
			case c == 'E':
				whole, once = 0, 0
			case c == 'n':
				put([]byte{'\n'})
			default:
				put([]byte{c})
			}
		}
	}
	return out
}

// tarMatching is how patterns are matched; nil is the default of the place.
type tarMatching struct {
	wild, anchored *bool
	noSlash, fold  bool
}

// tarPattern is one --exclude; it holds for the names after it.
type tarPattern struct {
	text  string
	how   tarMatching
	after int // names that came before it
}

// tarTag is a file that keeps its directory out of the archive: its content (""), everything in it ("under") or all of
// it ("all").
type tarTag struct {
	name, what string
	cache      bool // and its content begins like a cache's
}

func (t *tarRun) exclude(patterns ...string) {
	for _, p := range patterns {
		t.patterns = append(t.patterns, tarPattern{p, t.matching, len(t.sources)})
	}
}

func orElse(b *bool, otherwise bool) bool {
	if b == nil {
		return otherwise
	}
	return *b
}

// matches reports whether the pattern matches the name, a directory above it, or, not anchored, either from a slash on.
func (m tarMatching) matches(p *proc.Process, pattern, name string, wild, anchored bool) bool {
	for from := 0; ; {
		s := name[from:]
		for end := len(s); end > 0; end = strings.LastIndexByte(s[:end], '/') {
			switch {
			case !wild && (s[:end] == pattern || m.fold && strings.EqualFold(s[:end], pattern)):
				return true
			case wild && program.Fnmatch(p, pattern, s[:end], m.fold) &&
				(!m.noSlash || strings.Count(pattern, "/") == strings.Count(s[:end], "/")):
				return true
			}
		}
		i := strings.IndexByte(s, '/')
		if i < 0 || anchored {
			return false
		}
		from += i + 1
	}
}

// excluded reports whether a pattern keeps the name out. n is how many names came before it on the command line.
func (t *tarRun) excluded(name string, n int) bool {
	name = strings.TrimSuffix(name, "/")
	for _, p := range t.patterns {
		if p.after <= n && p.how.matches(t.p, p.text, name, orElse(p.how.wild, true), orElse(p.how.anchored, false)) {
			return true
		}
	}
	return false
}

// safe is the member name without what leads out of the directory it is extracted to.
func (t *tarRun) safe(name, what string) string {
	if t.absolute {
		return name
	}
	cut := 0
	for i := 0; i < len(name); {
		j := strings.IndexByte(name[i:], '/')
		part := name[i:]
		if j >= 0 {
			part = name[i : i+j]
		}
		if part == ".." {
			cut = i + 2
			if j >= 0 {
				cut++
			}
		}
		if j < 0 {
			break
		}
		i += j + 1
	}
	for cut < len(name) && name[cut] == '/' {
		cut++
	}
	if cut == 0 {
		return name
	}
	if prefix := name[:cut]; !t.warned[what+prefix] {
		t.warned[what+prefix] = true
		t.say("Removing leading `%s' from %s", prefix, what)
	}
	if name = name[cut:]; name == "" {
		return "."
	}
	return name
}

// rename applies the transformations: kind is r for a name, s and h for what a link points to.
func (t *tarRun) rename(name string, kind byte) string {
	if base := strings.TrimRight(name, "/"); kind == 'r' && base != "" && base != name && len(t.transforms) > 0 {
		return t.rename(base, kind) + "/" // the slash of a directory is no part of its name
	}
	for _, x := range t.transforms {
		if x.covers(kind) {
			name = x.apply(name)
		}
	}
	return name
}

// quoteName shows a name in the style that was asked for.
func (t *tarRun) quoteName(s string) string {
	switch t.quoting {
	case "literal":
		return s
	case "shell":
		return shellQuotePlain(s, false)
	case "shell-always":
		return shellQuotePlain(s, true)
	case "c":
		return `"` + strings.ReplaceAll(tarQuote(s), `"`, `\"`) + `"`
	case "c-maybe":
		q := `"` + strings.ReplaceAll(tarQuote(s), `"`, `\"`) + `"`
		if strings.ReplaceAll(q, `\\`, `\`) == `"`+s+`"` {
			return s
		}
		return q
	case "locale", "clocale":
		return "‘" + tarQuote(s) + "’"
	}
	q := tarQuote(s)
	for _, c := range t.spared {
		q = strings.ReplaceAll(q, `\`+string(c), string(c))
	}
	for _, c := range t.extra {
		if c != '\\' {
			q = strings.ReplaceAll(q, string(c), `\`+string(c))
		}
	}
	return q
}

// shellQuotePlain quotes for a shell without $'…'.
func shellQuotePlain(s string, always bool) string {
	if !always && s != "" && !strings.ContainsAny(s, " \t\n\"'`$&*;<>?[]\\|()!#~^=") {
		return s
	}
	if strings.Contains(s, "'") && !strings.ContainsAny(s, "\"$`\\!") {
		return `"` + s + `"`
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// tarQuote escapes what would spoil a line.
func tarQuote(s string) string {
	if !strings.ContainsAny(s, "\\\n\t\r\a\b\f\v\x7f") {
		return s
	}
	return strings.NewReplacer("\\", `\\`, "\n", `\n`, "\t", `\t`, "\r", `\r`, "\a", `\a`, "\b", `\b`, "\f", `\f`, "\v",
		`\v`, "\x7f", `\177`).Replace(s)
}

// wanted reports whether a member was asked for.
func (t *tarRun) wanted(name string) (tarSource, bool) {
	name = strings.TrimSuffix(name, "/")
	if t.start != "" {
		if name != strings.TrimSuffix(t.start, "/") {
			return tarSource{}, false
		}
		t.start = ""
	}
	if len(t.named) == 0 {
		return tarSource{dir: t.top}, true
	}
	for i, s := range t.named {
		want := strings.TrimSuffix(s.name, "/")
		m := tarMatching{}
		if s.matching != nil {
			m = *s.matching
		}
		if s.flat && want == name || !s.flat && m.matches(t.p, want, name, orElse(m.wild, false), orElse(m.anchored, true)) {
			if t.nth > 0 {
				if t.seen[name]++; t.seen[name] != t.nth {
					return tarSource{}, false
				}
			}
			t.hit[i] = true
			return s, true
		}
	}
	return tarSource{}, false
}

// missing complains of names that no member had.
func (t *tarRun) missing() {
	hinted := false
	for i, s := range t.named {
		if t.hit[i] {
			continue
		}
		if !hinted && s.matching != nil && s.matching.wild == nil && strings.ContainsAny(s.name, "*?[") {
			hinted = true
			t.say("Pattern matching characters used in file names")
			t.say("Use --wildcards to enable pattern matching, or --no-wildcards to suppress this warning")
		}
		if t.nth > 0 {
			t.fail("%s: Required occurrence not found in archive", s.name)
		} else {
			t.fail("%s: Not found in archive", cmp.Or(strings.TrimRight(s.name, "/"), "/"))
		}
	}
}
