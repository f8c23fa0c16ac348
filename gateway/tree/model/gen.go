package model

import (
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/pgbox/pgbox/gateway/vfs"
)

// Generator makes random operations that are likely to hit what is there.
type Generator struct {
	// Verbs to choose from; nil is AllVerbs.
	Verbs []Verb
	// Bytes adds paths that a text parameter cannot hold: NUL and invalid UTF-8.
	Bytes bool
	// PlainModes leaves out setuid, setgid and sticky bits, which some kernels treat specially.
	PlainModes bool
	// MaxFile bounds the size of files; 0 is 300 000.
	MaxFile int64

	r *rand.Rand
}

// NewGenerator returns a generator whose operations depend on seed only.
func NewGenerator(seed uint64) *Generator {
	return &Generator{r: rand.New(rand.NewPCG(seed, 0x70676f78))}
}

// Few names, so that operations meet.
var names = []string{"a", "b", "c", "d", "e f", "é", strings.Repeat("n", 255)}

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// Next returns an operation for a tree that looks like m.
func (g *Generator) Next(m *Model) Op {
	verbs := g.Verbs
	if verbs == nil {
		verbs = AllVerbs
	}
	op := Op{Verb: pick(g.r, verbs), UID: -1, GID: -1, Follow: g.r.IntN(2) == 0}
	paths, dirs, files := g.places(m)
	// The sandbox must neither grow without bound nor stay empty.
	switch {
	case len(paths) > 60 && g.r.IntN(4) == 0 && slices.Contains(verbs, RemoveAll):
		op.Verb = RemoveAll
	case op.Verb == RemoveAll && len(paths) < 30 && slices.Contains(verbs, WriteFile):
		op.Verb = WriteFile
	case len(paths) < 8 && g.r.IntN(2) == 0 && slices.Contains(verbs, Mkdir):
		op.Verb = Mkdir
	}
	old := func(prefer []string) string {
		if len(prefer) > 0 && g.r.IntN(10) < 8 {
			return g.disturb(pick(g.r, prefer))
		}
		return g.disturb(pick(g.r, paths))
	}
	fresh := func() string { return g.disturb(strings.TrimSuffix(pick(g.r, dirs), "/") + "/" + pick(g.r, names)) }
	either := func() string {
		if g.r.IntN(2) == 0 {
			return fresh()
		}
		return old(nil)
	}
	switch op.Verb {
	case WriteFile, AppendFile:
		op.Path, op.Data, op.Mode = either(), g.data(), pick(g.r, []uint32{0o644, 0o600, 0o755})
		if g.r.IntN(2) == 0 {
			op.Path = old(files)
		}
	case WriteAt:
		op.Path, op.Data, op.Off = old(files), g.data(), g.size()
	case Truncate:
		op.Path, op.Off = old(files), g.size()
		if g.r.IntN(50) == 0 {
			op.Off = -1
		}
	case ReadFile:
		op.Path, op.Off, op.Len = old(files), 0, -1
		if g.r.IntN(2) == 0 {
			op.Off, op.Len = g.size(), g.size()
		}
	case Mkdir:
		op.Path, op.Mode = either(), pick(g.r, []uint32{0o755, 0o700, 0o1777})
	case MkdirAll:
		op.Path, op.Mode = strings.TrimSuffix(pick(g.r, paths), "/"), 0o755
		for range g.r.IntN(4) {
			op.Path += "/" + pick(g.r, names)
		}
		if op.Path == "" {
			op.Path = "/"
		}
	case Rmdir, Unlink, RemoveAll, Realpath, Stat, Lstat, Readdir:
		op.Path = old(nil)
		if op.Verb == Readdir {
			op.Path = old(dirs)
		}
	case Rename:
		op.Path, op.To = old(nil), either()
	case Link:
		op.Path, op.To = old(files), either()
	case Symlink:
		op.Path, op.To = either(), g.target(paths)
	case Readlink:
		op.Path = old(nil)
	case Chmod:
		op.Path, op.Mode = old(nil), uint32(g.r.IntN(0o10000))
	case Chown:
		op.Path = old(nil)
		if g.r.IntN(3) > 0 {
			op.UID = g.r.IntN(2000)
		}
		if g.r.IntN(3) > 0 {
			op.GID = g.r.IntN(2000)
		}
	case Utimes:
		op.Path, op.Mtime = old(nil), UtimesFloor+g.r.Int64N(1_000_000_000_000)
	}
	if g.PlainModes {
		op.Mode &= 0o777
	}
	return op
}

// places lists what there is: all paths, directories, and what leads to files. Only names that the
// generator makes are listed, not those that the target began with.
func (g *Generator) places(m *Model) (paths, dirs, files []string) {
	var walk func(path string, n *node)
	walk = func(path string, n *node) {
		show := path
		if show == "" {
			show = "/"
		}
		paths = append(paths, show)
		switch n.kind {
		case vfs.Dir:
			dirs = append(dirs, show)
		case vfs.Regular, vfs.Symlink:
			files = append(files, show)
		}
		for _, name := range names {
			if k := n.kids[name]; k != nil && len(path)+len(name) < 3500 {
				walk(path+"/"+name, k)
			}
		}
	}
	walk("", m.root)
	return paths, dirs, files
}

// disturb returns another way to write, or to spoil, a path.
func (g *Generator) disturb(p string) string {
	switch g.r.IntN(40) {
	case 0:
		return p + "/"
	case 1:
		return p + "//"
	case 2:
		return p + "/."
	case 3:
		return p + "/.."
	case 4:
		return p + "/../" + pick(g.r, names)
	case 5:
		return p + "/" + pick(g.r, names)
	case 6:
		return p + "/" + pick(g.r, names) + "/"
	case 7:
		return strings.ReplaceAll(p, "/", "//")
	case 8:
		return strings.Replace(p, "/", "/./", 1)
	case 9:
		return p + "/" + strings.Repeat("x", 256)
	case 10:
		return "/.." + p
	case 11:
		switch g.r.IntN(6) {
		case 0:
			return ""
		case 1:
			return p + strings.Repeat("/", 4096)
		case 2:
			return p + strings.Repeat("/.", (4095-len(p))/2)
		case 3:
			if g.Bytes {
				return p + "\x00"
			}
		case 4:
			if g.Bytes {
				return p + "\xff"
			}
		}
	}
	return p
}

// target is what a new symlink says: relative, absolute, looping, dangling, with a slash at its end.
func (g *Generator) target(paths []string) string {
	switch g.r.IntN(12) {
	case 0:
		return "."
	case 1:
		return ".."
	case 2:
		return "../" + pick(g.r, names)
	case 3:
		return pick(g.r, names) + "/"
	case 4:
		return pick(g.r, names) + "/../" + pick(g.r, names)
	case 5, 6, 7:
		return g.disturb(pick(g.r, paths))
	case 8:
		return "/"
	}
	return pick(g.r, names)
}

// chunk is the unit in which the implementations store content; sizes near its multiples find their faults.
const chunk = 64 << 10

func (g *Generator) size() int64 {
	limit := g.MaxFile
	if limit == 0 {
		limit = 300_000
	}
	switch g.r.IntN(8) {
	case 0:
		return 0
	case 1, 2, 3, 4:
		return g.r.Int64N(min(2000, limit))
	case 5:
		return min(limit, max(0, int64(g.r.IntN(4))*chunk+int64(g.r.IntN(3)-1)))
	}
	return g.r.Int64N(limit)
}

func (g *Generator) data() []byte {
	n := int(g.size())
	if g.r.IntN(3) > 0 {
		n = min(n, g.r.IntN(100))
	}
	b := make([]byte, n)
	for i := 0; i < n; i += 1 + g.r.IntN(40) {
		b[i] = byte('a' + g.r.IntN(26))
	}
	return b
}
