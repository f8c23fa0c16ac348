package grep

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/text/ignore"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// rgWalk finds the files to search.
type rgWalk struct {
	p        *proc.Process
	hidden   bool
	follow   bool
	maxDepth int // -1: no limit
	maxSize  int64
	byTime   bool
	reverse  bool

	globs     ignore.List // -g
	selects   bool        // some glob names what is wanted
	foldGlobs bool
	foldFiles bool
	explicit  ignore.List // --ignore-file
	err       error

	ownIgnore string // the tool's own kind of ignore file

	noIgnore, noDot, noVCS, noParent, noFiles, noExclude, noRequireGit bool

	types       map[string][]string
	want, avoid ignore.List // of -t and -T
	hasWant     bool
}

func (w *rgWalk) init(p *proc.Process) {
	w.p, w.maxDepth, w.maxSize, w.ownIgnore = p, -1, -1, ".rgignore"
}

// known returns the file types.
func (w *rgWalk) known() map[string][]string {
	if w.types == nil {
		w.types = map[string][]string{}
		for l := range strings.Lines(strings.TrimSpace(rgTypes)) {
			name, globs, _ := strings.Cut(strings.TrimSpace(l), ": ")
			w.types[name] = strings.Split(globs, ", ")
		}
	}
	return w.types
}

func (w *rgWalk) listTypes(out *proc.Writer) {
	for _, name := range slices.Sorted(maps.Keys(w.known())) {
		globs := slices.Clone(w.types[name])
		slices.Sort(globs)
		out.WriteString(name + ": " + strings.Join(globs, ", ") + "\n")
	}
}

// defineType is --type-add name:glob, or name:include:other,….
func (w *rgWalk) defineType(def string) bool {
	name, glob, ok := strings.Cut(def, ":")
	if !ok || name == "" || glob == "" {
		return false
	}
	types := w.known()
	if others, ok := strings.CutPrefix(glob, "include:"); ok {
		for o := range strings.SplitSeq(others, ",") {
			types[name] = append(types[name], types[o]...)
		}
		return true
	}
	types[name] = append(types[name], glob)
	return true
}

func (w *rgWalk) addType(name string, want bool) bool {
	types := w.known()
	names := []string{name}
	if name == "all" {
		names = slices.Collect(maps.Keys(types))
	}
	for _, n := range names {
		globs, ok := types[n]
		if !ok {
			return false
		}
		l := &w.avoid
		if want {
			l, w.hasWant = &w.want, true
		}
		for _, glob := range globs {
			_ = l.Add(glob, false)
		}
	}
	return true
}

func (w *rgWalk) ignoreFile(name string) bool {
	data, err := w.p.ReadFile(name)
	if err != nil {
		w.err = err
		return false
	}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimRight(line, "\r\n "); line != "" && !strings.HasPrefix(line, "#") {
			_ = w.explicit.Add(line, w.foldFiles)
		}
	}
	return true
}

// rgRules are the ignore files of one directory.
type rgRules struct {
	parent *rgRules
	dir    string // absolute
	rg     *ignore.List
	dot    *ignore.List
	git    *ignore.List
	info   *ignore.List
	isRepo bool // the directory has a .git
	inRepo bool // it or one above has
}

func (w *rgWalk) rules(dir string, parent *rgRules) *rgRules {
	r := &rgRules{parent: parent, dir: dir}
	read := func(name string) *ignore.List {
		data, err := w.p.FS.ReadFile(path.Join(dir, name))
		if err != nil {
			return nil
		}
		return ignore.Parse(string(data), w.foldFiles)
	}
	if w.noIgnore {
		return r
	}
	if !w.noDot {
		r.rg, r.dot = read(w.ownIgnore), read(".ignore")
	}
	if !w.noVCS {
		if _, err := w.p.FS.Lstat(path.Join(dir, ".git")); err == nil {
			r.isRepo = true
			if !w.noExclude {
				r.info = read(".git/info/exclude")
			}
		}
		r.git = read(".gitignore")
	}
	r.inRepo = r.isRepo || parent != nil && parent.inRepo
	return r
}

// verdict asks the ignore files about a path below the directory of r.
func (w *rgWalk) verdict(r *rgRules, abs string, dir bool) ignore.Verdict {
	var found [4]ignore.Verdict
	git := true // .gitignore files above the repository do not count
	for at := r; at != nil; at = at.parent {
		rel := strings.TrimPrefix(strings.TrimPrefix(abs, at.dir), "/")
		ask := func(i int, l *ignore.List) {
			if found[i] == ignore.None {
				found[i] = l.Match(rel, dir)
			}
		}
		ask(0, at.rg)
		ask(1, at.dot)
		if git && (r.inRepo || w.noRequireGit) {
			ask(2, at.git)
			ask(3, at.info)
		}
		git = git && !at.isRepo
	}
	for _, v := range found {
		if v != ignore.None {
			return v
		}
	}
	if !w.noFiles {
		return w.explicit.Match(strings.TrimPrefix(strings.TrimPrefix(abs, w.p.Dir), "/"), dir)
	}
	return ignore.None
}

// skip decides whether an entry is left out.
func (w *rgWalk) skip(r *rgRules, abs string, name string, dir bool) bool {
	if !w.globs.Empty() {
		rel := strings.TrimPrefix(strings.TrimPrefix(abs, w.p.Dir), "/")
		// A glob names what is wanted, and !glob what is not: the other way round than in an ignore file.
		switch w.globs.Match(rel, dir) {
		case ignore.Kept:
			return true
		case ignore.Ignored:
			return false
		}
		if w.selects && !dir {
			return true
		}
	}
	kept := false
	switch w.verdict(r, abs, dir) {
	case ignore.Ignored:
		return true
	case ignore.Kept:
		kept = true
	}
	if !dir {
		if w.avoid.Match(name, false) == ignore.Ignored {
			return true
		}
		if w.hasWant {
			if w.want.Match(name, false) != ignore.Ignored {
				return true
			}
			kept = true
		}
	}
	return !w.hidden && !kept && strings.HasPrefix(name, ".")
}

// run searches the files below dir, whose names are printed behind prefix.
func (w *rgWalk) run(g *rgRun, dir, prefix string) {
	abs, err := w.p.FS.Realpath(w.p.Abs(dir))
	if err != nil {
		g.complain(dir, err)
		return
	}
	w.directory(g, abs, prefix, w.above(abs), 1, nil)
}

// above are the rules of the directories that a directory is in.
func (w *rgWalk) above(abs string) *rgRules {
	var above *rgRules
	if w.noParent || w.noIgnore {
		return nil
	}
	var dirs []string
	for d := abs; d != "/"; {
		d = path.Dir(d)
		dirs = append(dirs, d)
	}
	for _, d := range slices.Backward(dirs) {
		above = w.rules(d, above)
	}
	return above
}

func (w *rgWalk) directory(g *rgRun, abs, prefix string, above *rgRules, depth int, parents []uint64) {
	if w.maxDepth >= 0 && depth > w.maxDepth {
		return
	}
	shown := strings.TrimSuffix(prefix, "/")
	if w.follow {
		st, err := w.p.FS.Stat(abs)
		if err != nil {
			g.complain(shown, err)
			return
		}
		if slices.Contains(parents, st.Ino) {
			g.complain(shown, vfs.ELOOP)
			return
		}
		parents = append(parents[:len(parents):len(parents)], st.Ino)
	}
	entries, err := w.p.FS.ReadDir(abs)
	if err != nil {
		g.complain(shown, err)
		return
	}
	r := w.rules(abs, above)
	if w.byTime {
		when := map[string]int64{}
		for _, e := range entries {
			if st, err := w.p.FS.Lstat(abs + "/" + e.Name); err == nil {
				when[e.Name] = st.Mtime
			}
		}
		entries = slices.Clone(entries)
		slices.SortStableFunc(entries, func(a, b vfs.Dirent) int { return cmp.Compare(when[a.Name], when[b.Name]) })
	}
	if w.reverse {
		entries = slices.Clone(entries)
		slices.Reverse(entries)
	}
	for _, e := range entries {
		w.p.Tick(1)
		full := path.Join(abs, e.Name)
		kind := e.Kind
		if kind == vfs.Symlink {
			if !w.follow {
				continue
			}
			st, err := w.p.FS.Stat(full)
			if err != nil {
				g.complain(prefix+e.Name, err)
				continue
			}
			kind = st.Kind
		}
		if kind != vfs.Dir && kind != vfs.Regular || w.skip(r, full, e.Name, kind == vfs.Dir) {
			continue
		}
		if kind == vfs.Dir {
			w.directory(g, full, prefix+e.Name+"/", r, depth+1, parents)
			continue
		}
		if w.maxSize >= 0 {
			if st, err := w.p.FS.Stat(full); err == nil && st.Size > w.maxSize {
				continue
			}
		}
		g.file(prefix+e.Name, false)
	}
}
