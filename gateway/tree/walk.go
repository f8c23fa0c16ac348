package tree

import (
	"strings"
	"unicode/utf8"

	"github.com/pgbox/pgbox/gateway/vfs"
)

const (
	maxHops = 40   // symlinks in one resolution, path_resolution(7)
	maxPath = 4096 // PATH_MAX, with the NUL that C counts
	maxName = 255
)

// mode says what a walk does with the last component.
type mode uint8

const (
	modeFollow   mode = iota // it must exist; a symlink is followed
	modeNoFollow             // it must exist; a symlink is followed only before a trailing slash
	modeParent               // it may be missing and is never followed: create, unlink, rename
	modeCreate               // open(2) with O_CREAT: may be missing, a symlink is followed, a trailing slash is EISDIR
	modeExcl                 // modeCreate that does not follow a symlink
)

func followMode(follow bool) mode {
	if follow {
		return modeFollow
	}
	return modeNoFollow
}

// last is the type of the last component of a path.
type last uint8

const (
	lastNorm last = iota
	lastRoot
	lastDot
	lastDotDot
)

// frame is a directory that a walk went into.
type frame struct {
	dir  *Inode
	name string
}

// walker resolves one path. It lives on the stack of its caller: resolution of a clean path allocates nothing.
type walker struct {
	in     *Inode // what the path names; nil: the last component does not exist
	parent *Inode // the directory of the last component, when last is lastNorm
	name   string // the last component
	last   last
	slash  bool // slashes follow the last component
	long   bool // modeParent: name is too long, which Linux finds when it looks the name up

	n    int // depth
	near [12]frame
	far  []frame
}

func (w *walker) push(dir *Inode, name string) {
	if w.n < len(w.near) {
		w.near[w.n] = frame{dir, name}
	} else {
		w.far = append(w.far[:w.n-len(w.near)], frame{dir, name})
	}
	w.n++
}

func (w *walker) frame(i int) frame {
	if i < len(w.near) {
		return w.near[i]
	}
	return w.far[i-len(w.near)]
}

// path is the canonical path of what the walk found, or, when that is missing, would find.
func (w *walker) path() string {
	var b strings.Builder
	for i := range w.n {
		b.WriteByte('/')
		b.WriteString(w.frame(i).name)
	}
	if w.last == lastNorm {
		b.WriteByte('/')
		b.WriteString(w.name)
	}
	if b.Len() == 0 {
		return "/"
	}
	return b.String()
}

// within reports whether dir is the directory of the last component or above it.
func (w *walker) within(dir Ino) bool {
	for i := range w.n {
		if w.frame(i).dir.Ino == dir {
			return true
		}
	}
	return dir == RootIno
}

// checkText are the faults that Linux, or a text column, finds in a string before looking at any file.
func checkText(s string) vfs.Errno {
	if len(s) >= maxPath {
		return vfs.ENAMETOOLONG
	}
	if strings.IndexByte(s, 0) >= 0 {
		return vfs.EINVAL
	}
	if !utf8.ValidString(s) {
		return vfs.EILSEQ
	}
	return 0
}

// walk resolves path as path_resolution(7) says. A relative path starts at the root.
func (w *walker) walk(st *state, path string, m mode) vfs.Errno {
	if path == "" {
		return vfs.ENOENT
	}
	if e := checkText(path); e != 0 {
		return e
	}
	root := st.inode(RootIno)
	if root == nil {
		return vfs.EIO
	}
	cur, rest, hops := root, path, 0
	w.last = lastRoot
	var pending []string // what follows the symlinks that are being read, innermost last
	for {
		for rest != "" && rest[0] == '/' {
			rest = rest[1:]
		}
		if rest == "" {
			if len(pending) == 0 {
				w.in = cur
				return 0
			}
			rest, pending = pending[len(pending)-1], pending[:len(pending)-1]
			continue
		}
		name := rest
		if i := strings.IndexByte(rest, '/'); i >= 0 {
			name, rest = rest[:i], rest[i:]
		} else {
			rest = ""
		}
		final := len(pending) == 0 && onlySlashes(rest)
		switch name {
		case ".":
			w.last = lastDot
			continue
		case "..":
			w.last = lastDotDot
			cur = root
			if w.n > 0 {
				w.n--
			}
			if w.n > 0 {
				cur = w.frame(w.n - 1).dir
			}
			continue
		}
		if final {
			w.parent, w.name, w.last = cur, name, lastNorm
			w.slash = w.slash || rest != ""
			if w.slash && (m == modeCreate || m == modeExcl) {
				return vfs.EISDIR
			}
		}
		if len(name) > maxName {
			if final && m == modeParent {
				w.in, w.long = nil, true
				return 0
			}
			return vfs.ENAMETOOLONG
		}
		ino, ok := cur.entry(name)
		if !ok {
			if final && m >= modeParent {
				w.in = nil
				return 0
			}
			return vfs.ENOENT
		}
		in := st.inode(ino)
		if in == nil {
			return vfs.EIO
		}
		if in.Kind == vfs.Symlink && (!final || m == modeFollow || m == modeCreate || m == modeNoFollow && w.slash) {
			if hops++; hops > maxHops {
				return vfs.ELOOP
			}
			if !final && !onlySlashes(rest) {
				pending = append(pending, rest)
			}
			rest = in.Target
			if strings.HasPrefix(rest, "/") {
				cur, w.n = root, 0
			}
			w.last = lastRoot
			continue
		}
		if final {
			w.in = in
			if w.slash && m < modeParent && in.Kind != vfs.Dir {
				return vfs.ENOTDIR
			}
			return 0
		}
		if in.Kind != vfs.Dir {
			return vfs.ENOTDIR
		}
		w.push(in, name)
		cur = in
	}
}

func onlySlashes(s string) bool {
	for i := range len(s) {
		if s[i] != '/' {
			return false
		}
	}
	return true
}
