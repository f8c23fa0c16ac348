package grep

import (
	"slices"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// nameFilter is an --include or --exclude option.
type nameFilter struct {
	glob    string
	include bool
}

// skipFile asks the filters about a name: the last one that matches decides, and where none does, the first option's
// opposite holds.
func (g *grepRun) skipFile(name string) bool {
	for _, f := range slices.Backward(g.filters) {
		if program.GlobMatches(g.p, f.glob, name) {
			return !f.include
		}
	}
	return len(g.filters) > 0 && g.filters[0].include
}

func (g *grepRun) skipDirectory(name string) bool {
	return slices.ContainsFunc(g.excludeDir, func(glob string) bool { return program.GlobMatches(g.p, glob, name) })
}

func (g *grepRun) operand(name string) {
	if name == "-" {
		g.stdin()
		return
	}
	st, err := g.p.Stat(name)
	if err != nil {
		g.complain(name, err)
		return
	}
	if st.IsDir() {
		switch {
		case g.recurse:
			if trimmed := strings.TrimRight(name, "/"); trimmed != "" && g.skipDirectory(trimmed) {
				return
			}
			g.directory(name, strings.TrimRight(name, "/")+"/", nil)
		case !g.skipDirs && !g.skipDirectory(strings.TrimRight(name, "/")):
			g.complain(name, vfs.EISDIR)
			if g.count || g.list == 'L' {
				g.beginFile(name)
				g.endFile()
			}
		}
		return
	}
	if g.skipFile(name) {
		return
	}
	if g.devices && st.Kind != vfs.Regular {
		return
	}
	g.file(name, st)
}

// directory searches everything below dir; prefix is put before names. parents
// are the directories on the way, against loops of followed links.
func (g *grepRun) directory(dir, prefix string, parents []uint64) {
	entries, err := g.p.ReadDir(dir)
	if err != nil {
		g.complain(dir, err)
		return
	}
	if g.deref {
		st, err := g.p.Stat(dir)
		if err != nil {
			g.complain(dir, err)
			return
		}
		for _, ino := range parents {
			if ino == st.Ino {
				if !g.silent {
					g.p.Errorf("%s: warning: recursive directory loop", strings.TrimRight(prefix, "/"))
				}
				return
			}
		}
		parents = append(parents[:len(parents):len(parents)], st.Ino)
	}
	for _, e := range entries {
		g.p.Tick(1)
		name := prefix + e.Name
		kind := e.Kind
		if kind == vfs.Symlink {
			if !g.deref {
				continue
			}
			st, err := g.p.Stat(name)
			if err != nil {
				g.complain(name, err)
				continue
			}
			kind = st.Kind
		}
		switch kind {
		case vfs.Dir:
			if g.skipDirectory(e.Name) {
				continue
			}
			g.directory(name, name+"/", parents)
		case vfs.Regular:
			if g.skipFile(name) {
				continue
			}
			g.file(name, vfs.Stat{Ino: e.Ino, Kind: vfs.Regular})
		}
	}
}
