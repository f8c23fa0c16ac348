package shell

import (
	"slices"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/text/pattern"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// globField replaces the current field by the pathnames it matches.
func (e *expander) globField() {
	sh := e.sh
	pat := string(e.pattern())
	if !pattern.HasMeta(pat, sh.opts.shopt(extglob)) {
		e.out = append(e.out, proc.String(e.buf))
		return
	}
	found := sh.glob(pat)
	switch {
	case len(found) > 0:
		e.out = append(e.out, found...)
		sh.wordLimit(len(e.out))
	case sh.opts.shopt(failglob):
		sh.fatal("no match: %s", proc.String(e.buf))
	case sh.opts.shopt(nullglob):
	default:
		e.out = append(e.out, proc.String(e.buf))
	}
}

// glob lists the pathnames that match pat, sorted.
func (sh *Shell) glob(pat string) []string {
	g := globber{sh: sh, flags: sh.patternFlags(sh.opts.shopt(nocaseglob)), dot: sh.opts.shopt(dotglob)}
	var release func()
	g.ignore, release = sh.globIgnore()
	defer release()
	if g.ignore != nil {
		g.dot = true
	}
	base := ""
	rest := pat
	if strings.HasPrefix(rest, "/") {
		k := 0
		for k < len(rest) && rest[k] == '/' {
			k++
		}
		base, rest = rest[:k], rest[k:]
	}
	g.walk(base, rest, 0)
	out := g.found
	if g.ignore != nil {
		out = slices.DeleteFunc(out, func(s string) bool {
			sh.ticks += int64(len(g.ignore)) >> 3
			sh.tick()
			b := s[strings.LastIndexByte(s, '/')+1:]
			return b == "." || b == ".." || slices.ContainsFunc(g.ignore, func(p *pattern.Pattern) bool { return p.Match(s) })
		})
	}
	slices.Sort(out)
	return out
}

// globIgnore is what GLOBIGNORE keeps out; release lets go of the memory it takes.
func (sh *Shell) globIgnore() (ignore []*pattern.Pattern, release func()) {
	v := sh.str("GLOBIGNORE")
	if v == "" {
		return nil, func() {}
	}
	const each = 512 // bytes of a short pattern
	held := each * int64(1+strings.Count(v, ":"))
	sh.hold(held)
	releases := []func(){func() { sh.hold(-held) }}
	for p := range strings.SplitSeq(v, ":") {
		sh.tick()
		cp, done := sh.pattern(p, sh.patternFlags(false))
		ignore = append(ignore, cp)
		if len(p) >= shortPattern {
			releases = append(releases, done)
		}
	}
	return ignore, func() {
		for _, done := range releases {
			done()
		}
	}
}

type globber struct {
	sh     *Shell
	flags  pattern.Flags
	dot    bool
	ignore []*pattern.Pattern
	found  []string
	meta   int // patterns in the path so far
}

func (g *globber) abs(p string) string {
	if strings.HasPrefix(p, "/") {
		return p
	}
	if p == "" {
		return g.sh.dir
	}
	if g.sh.dir == "/" {
		return "/" + p
	}
	return g.sh.dir + "/" + p
}

// walk matches the components of rest below base (a path with its trailing slash, or "").
func (g *globber) walk(base, rest string, depth int) {
	g.sh.tick()
	if rest == "" {
		if base == "" {
			return
		}
		if _, err := g.sh.x.fs.Stat(g.abs(base)); err == nil {
			g.found = append(g.found, base)
		}
		return
	}
	if depth > 4096 {
		return
	}
	comp, after, more := cutComponent(rest)
	slashes := ""
	if more {
		k := 0
		for k < len(after) && after[k] == '/' {
			k++
		}
		slashes = "/" + after[:k]
		after = after[k:]
	}
	ext := g.flags&pattern.ExtGlob != 0
	if comp == "**" && g.sh.opts.shopt(globstar) {
		for more && (after == "**" || strings.HasPrefix(after, "**/")) { // several are one
			_, after, more = cutComponent(after)
		}
		g.star(base, slashes, after, more, depth)
		return
	}
	if !pattern.HasMeta(comp, ext) {
		name := base + pattern.Unquote(comp)
		if more {
			g.walk(name+slashes, after, depth+1)
			return
		}
		if _, err := g.sh.x.fs.Lstat(g.abs(name)); err == nil {
			g.found = append(g.found, name)
		}
		return
	}
	ents, err := g.sh.x.fs.ReadDir(g.abs(base))
	if err != nil {
		return
	}
	p, release := g.sh.pattern(comp, g.flags)
	defer release()
	hidden := strings.HasPrefix(comp, ".") || strings.HasPrefix(comp, `\.`)
	if hidden && !g.sh.opts.shopt(globskipdots) {
		for _, n := range []string{".", ".."} {
			if p.Match(n) {
				g.entry(base+n, vfs.Dir, slashes, after, more, depth)
			}
		}
	}
	for _, d := range ents {
		if d.Name[0] == '.' && !hidden && !g.dot && !(ext && dotAlternative(comp)) {
			continue
		}
		if p.Match(d.Name) {
			g.entry(base+d.Name, d.Kind, slashes, after, more, depth)
		}
		g.sh.ticks++
	}
}

// dotAlternative reports an extended pattern that names a leading dot itself.
func dotAlternative(comp string) bool {
	return len(comp) > 2 && strings.IndexByte("@?+*", comp[0]) >= 0 && comp[1] == '(' &&
		(comp[2] == '.' || strings.Contains(comp, "|."))
}

func (g *globber) entry(name string, kind vfs.Kind, slashes, after string, more bool, depth int) {
	if !more {
		g.found = append(g.found, name)
		return
	}
	if kind == vfs.Symlink {
		st, err := g.sh.x.fs.Stat(g.abs(name))
		if err != nil {
			return
		}
		kind = st.Kind
	}
	if kind == vfs.Dir {
		g.meta++
		g.walk(name+slashes, after, depth+1)
		g.meta--
	}
}

// star expands ** : zero or more directories, symlinks not followed.
func (g *globber) star(base, slashes, after string, more bool, depth int) {
	if depth > 4096 {
		return
	}
	g.sh.wordLimit(len(g.found))
	ents, err := g.sh.x.fs.ReadDir(g.abs(base))
	if err != nil {
		return
	}
	switch {
	case more:
		g.meta++
		g.walk(base, after, depth+1)
		g.meta--
	case base == "":
	case g.meta > 0:
		g.found = append(g.found, strings.TrimRight(base, "/"))
	default:
		g.found = append(g.found, base)
	}
	g.below(base, slashes, after, more, ents, depth)
}

// below goes on with ** in the entries of a directory.
func (g *globber) below(base, slashes, after string, more bool, ents []vfs.Dirent, depth int) {
	for _, d := range ents {
		g.sh.tick()
		if d.Name[0] == '.' && !g.dot {
			continue
		}
		name := base + d.Name
		if !more {
			g.found = append(g.found, name)
		}
		switch {
		case d.Kind == vfs.Dir && more:
			g.star(name+"/", slashes, after, true, depth+1)
		case d.Kind == vfs.Dir && depth < 4096:
			if in, err := g.sh.x.fs.ReadDir(g.abs(name)); err == nil {
				g.below(name+"/", slashes, after, false, in, depth+1)
			}
		case d.Kind == vfs.Symlink && more && after == "":
			if st, err := g.sh.x.fs.Stat(g.abs(name)); err == nil && st.IsDir() {
				g.found = append(g.found, name+slashes)
			}
		}
	}
}

// cutComponent splits a pattern at its first '/' outside of brackets and groups.
func cutComponent(s string) (comp, after string, more bool) {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '(':
			if i > 0 && strings.IndexByte("?*+@!", s[i-1]) >= 0 {
				depth++
			}
		case ')':
			if depth > 0 {
				depth--
			}
		case '/':
			if depth == 0 {
				return s[:i], s[i+1:], true
			}
		}
	}
	return s, "", false
}
