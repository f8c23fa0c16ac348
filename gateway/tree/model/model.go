package model

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pgbox/pgbox/gateway/vfs"
)

// UtimesFloor is the smallest time that the generator gives to utimes.
const UtimesFloor = 1_000_000_000_000_000_000

type node struct {
	kind     vfs.Kind
	mode     uint32
	uid, gid uint32
	mtime    int64
	data     []byte
	target   string
	kids     map[string]*node // of a directory
	parent   *node            // of a directory; the root is its own
}

// Model is the reference filesystem. It is a [Target] too.
type Model struct {
	root     *node
	uid, gid uint32
	now      int64
}

// New returns a model that holds what a target was dumped to hold; read returns the bytes of a regular
// file. New files get the given owner and group.
func New(start []Entry, read func(path string) []byte, uid, gid uint32) *Model {
	m := &Model{uid: uid, gid: gid}
	byPath := make(map[string]*node)
	for _, e := range start {
		n := byPath[e.Same]
		if n == nil {
			n = &node{kind: e.Attr.Kind, mode: e.Attr.Mode, uid: e.Attr.UID, gid: e.Attr.GID, mtime: e.Attr.Mtime,
				target: e.Target}
			switch n.kind {
			case vfs.Dir:
				n.kids = make(map[string]*node)
			case vfs.Regular:
				n.data = bytes.Clone(read(e.Path))
			}
		}
		byPath[e.Path] = n
		if e.Path == "/" {
			n.parent, m.root = n, n
			continue
		}
		i := strings.LastIndexByte(e.Path, '/')
		dir := byPath[e.Path[:i]]
		if i == 0 {
			dir = m.root
		}
		dir.kids[e.Path[i+1:]] = n
		if n.kind == vfs.Dir {
			n.parent = dir
		}
	}
	return m
}

// Root is the start of a tree that holds a root directory only.
func Root() []Entry {
	return []Entry{{Path: "/", Same: "/", Attr: Attr{Kind: vfs.Dir, Mode: 0o755, Nlink: 2}}}
}

// place is where a path leads.
type place struct {
	dir   *node  // directory of the last component; nil when that is not a name
	name  string // last component
	node  *node  // nil: nothing there
	slash bool   // a slash follows the last component
	long  bool   // the last component is longer than a name may be (parent only: found when it is looked up)
	last  string // "", or "/", ".", ".." when the last component is not a name
}

// How the last component is treated.
type final int

const (
	follow   final = iota // must exist, symlinks followed
	noFollow              // must exist, symlinks followed before a slash only
	parent                // may be missing, never followed
	create                // may be missing, followed, no slash allowed
)

// badText are the faults of a path, or of a symlink's target, as a string.
func badText(s string) vfs.Errno {
	switch {
	case s == "":
		return vfs.ENOENT
	case len(s) >= 4096:
		return vfs.ENAMETOOLONG
	case strings.Contains(s, "\x00"):
		return vfs.EINVAL
	case !utf8.ValidString(s):
		return vfs.EILSEQ
	}
	return 0
}

func (m *Model) find(path string, f final) (place, vfs.Errno) {
	if e := badText(path); e != 0 {
		return place{}, e
	}
	split := func(s string) (parts []string) {
		for _, p := range strings.Split(s, "/") {
			if p != "" {
				parts = append(parts, p)
			}
		}
		return parts
	}
	parts := split(path)
	slash := strings.HasSuffix(path, "/")
	at, lastPart, hops := m.root, "/", 0
	for len(parts) > 0 {
		name := parts[0]
		parts = parts[1:]
		isLast := len(parts) == 0
		if at.kind != vfs.Dir {
			return place{}, vfs.ENOTDIR
		}
		if name == "." {
			lastPart = "."
			continue
		}
		if name == ".." {
			lastPart, at = "..", at.parent
			continue
		}
		if isLast && slash && f == create {
			return place{}, vfs.EISDIR
		}
		if len(name) > 255 {
			if isLast && f == parent {
				return place{dir: at, name: name, slash: slash, long: true}, 0
			}
			return place{}, vfs.ENAMETOOLONG
		}
		n := at.kids[name]
		if n == nil {
			if isLast && (f == parent || f == create) {
				return place{dir: at, name: name, slash: slash}, 0
			}
			return place{}, vfs.ENOENT
		}
		if n.kind == vfs.Symlink && (!isLast || f == follow || f == create || f == noFollow && slash) {
			hops++
			if hops > 40 {
				return place{}, vfs.ELOOP
			}
			if isLast && strings.HasSuffix(n.target, "/") {
				slash = true
			}
			parts = append(split(n.target), parts...)
			lastPart = "/"
			if strings.HasPrefix(n.target, "/") {
				at = m.root
			}
			continue
		}
		if isLast {
			if slash && n.kind != vfs.Dir && (f == follow || f == noFollow) {
				return place{}, vfs.ENOTDIR
			}
			return place{dir: at, name: name, node: n, slash: slash}, 0
		}
		at = n
	}
	if at.kind != vfs.Dir {
		return place{}, vfs.ENOTDIR
	}
	return place{node: at, slash: slash, last: lastPart}, 0
}

// path returns the canonical path of a directory.
func (m *Model) path(n *node) string {
	if n == m.root {
		return ""
	}
	for name, k := range n.parent.kids {
		if k == n {
			return m.path(n.parent) + "/" + name
		}
	}
	panic("model: a directory is not in its parent")
}

func (m *Model) nlink(n *node) uint32 {
	var links uint32
	if n.kind == vfs.Dir {
		links = 2
		for _, k := range n.kids {
			if k.kind == vfs.Dir {
				links++
			}
		}
		return links
	}
	var count func(d *node)
	count = func(d *node) {
		for _, k := range d.kids {
			if k == n {
				links++
			}
			if k.kind == vfs.Dir {
				count(k)
			}
		}
	}
	count(m.root)
	return links
}

func (m *Model) attr(n *node) Attr {
	a := Attr{Kind: n.kind, Mode: n.mode, UID: n.uid, GID: n.gid, Nlink: m.nlink(n), Mtime: n.mtime}
	switch n.kind {
	case vfs.Regular:
		a.Size = int64(len(n.data))
	case vfs.Symlink:
		a.Size = int64(len(n.target))
	}
	return a
}

// Dump lists the tree.
func (m *Model) Dump() []Entry {
	var list []Entry
	first := make(map[*node]string)
	var walk func(path string, n *node)
	walk = func(path string, n *node) {
		if path == "" {
			path = "/"
		}
		if _, ok := first[n]; !ok {
			first[n] = path
		}
		e := Entry{Path: path, Attr: m.attr(n), Target: n.target, Same: first[n]}
		if n.kind == vfs.Regular {
			e.Sum = Sum(n.data)
		}
		list = append(list, e)
		if path == "/" {
			path = ""
		}
		for _, name := range slices.Sorted(maps.Keys(n.kids)) {
			walk(path+"/"+name, n.kids[name])
		}
	}
	walk("", m.root)
	Sort(list)
	return list
}

// Sort puts a dump into the order of paths and sets Same to the first path of each inode, which the entries
// name by any of its paths or any other unique string.
func Sort(list []Entry) {
	slices.SortFunc(list, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	first := make(map[string]string)
	for i := range list {
		if _, ok := first[list[i].Same]; !ok {
			first[list[i].Same] = list[i].Path
		}
		list[i].Same = first[list[i].Same]
	}
}

// Sum is the value of [Entry].Sum for a content.
func Sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

// Apply runs one operation.
func (m *Model) Apply(op Op) (Result, vfs.Errno) {
	m.now++
	switch op.Verb {
	case WriteFile, AppendFile:
		return Result{}, m.writeFile(op)
	case WriteAt, Truncate:
		return Result{}, m.change(op)
	case ReadFile:
		return m.readFile(op)
	case Mkdir, Symlink:
		return Result{}, m.make(op)
	case MkdirAll:
		return Result{}, m.mkdirAll(op)
	case Rmdir, Unlink, RemoveAll:
		return Result{}, m.remove(op)
	case Rename:
		return Result{}, m.rename(op)
	case Link:
		return Result{}, m.link(op)
	case Chmod, Chown, Utimes:
		return Result{}, m.setAttr(op)
	}
	f := follow
	if op.Verb == Lstat || op.Verb == Readlink {
		f = noFollow
	}
	p, e := m.find(op.Path, f)
	if e != 0 {
		return Result{}, e
	}
	switch op.Verb {
	case Stat, Lstat:
		return Result{Stat: m.attr(p.node)}, 0
	case Readlink:
		if p.node.kind != vfs.Symlink {
			return Result{}, vfs.EINVAL
		}
		return Result{Text: p.node.target}, 0
	case Realpath:
		text := ""
		if p.node.kind == vfs.Dir {
			text = m.path(p.node)
		} else {
			text = m.path(p.dir) + "/" + p.name
		}
		if text == "" {
			text = "/"
		}
		return Result{Text: text}, 0
	case Readdir:
		if p.node.kind != vfs.Dir {
			return Result{}, vfs.ENOTDIR
		}
		var names []Name
		for _, n := range slices.Sorted(maps.Keys(p.node.kids)) {
			names = append(names, Name{n, p.node.kids[n].kind})
		}
		return Result{Names: names}, 0
	}
	panic("model: no such verb: " + string(op.Verb))
}

func (m *Model) add(p place, n *node) {
	n.uid, n.gid, n.mtime = m.uid, m.gid, m.now
	p.dir.kids[p.name] = n
	p.dir.mtime = m.now
}

func (m *Model) writeFile(op Op) vfs.Errno {
	p, e := m.find(op.Path, create)
	if e != 0 {
		return e
	}
	switch {
	case p.node == nil:
		p.node = &node{kind: vfs.Regular, mode: op.Mode}
		m.add(p, p.node)
	case p.node.kind == vfs.Dir:
		return vfs.EISDIR
	case op.Verb == WriteFile:
		p.node.data, p.node.mtime = nil, m.now
	}
	if len(op.Data) > 0 {
		p.node.data, p.node.mtime = append(p.node.data, op.Data...), m.now
	}
	return 0
}

// change is pwrite or truncate of an existing file.
func (m *Model) change(op Op) vfs.Errno {
	if op.Off < 0 {
		return vfs.EINVAL
	}
	p, e := m.find(op.Path, follow)
	if e != 0 {
		return e
	}
	n := p.node
	if n.kind == vfs.Dir {
		return vfs.EISDIR
	}
	size := op.Off
	if op.Verb == WriteAt {
		if len(op.Data) == 0 {
			return 0
		}
		size = max(op.Off+int64(len(op.Data)), int64(len(n.data)))
	}
	data := make([]byte, size)
	copy(data, n.data)
	if op.Verb == WriteAt {
		copy(data[op.Off:], op.Data)
	}
	n.data, n.mtime = data, m.now
	return 0
}

func (m *Model) readFile(op Op) (Result, vfs.Errno) {
	p, e := m.find(op.Path, follow)
	switch {
	case e != 0:
		return Result{}, e
	case p.node.kind == vfs.Dir:
		return Result{}, vfs.EISDIR
	case op.Off < 0:
		return Result{}, vfs.EINVAL
	}
	data := p.node.data[min(op.Off, int64(len(p.node.data))):]
	if op.Len >= 0 && op.Len < int64(len(data)) {
		data = data[:op.Len]
	}
	return Result{Data: bytes.Clone(data)}, 0
}

// vacant finds the place for a new name.
func (m *Model) vacant(path string, dir bool) (place, vfs.Errno) {
	p, e := m.find(path, parent)
	switch {
	case e != 0:
		return p, e
	case p.long:
		return p, vfs.ENAMETOOLONG
	case p.node != nil || p.last != "":
		return p, vfs.EEXIST
	case p.slash && !dir:
		return p, vfs.ENOENT
	}
	return p, 0
}

func (m *Model) make(op Op) vfs.Errno {
	if op.Verb == Symlink {
		if e := badText(op.To); e != 0 {
			return e
		}
	}
	p, e := m.vacant(op.Path, op.Verb == Mkdir)
	if e != 0 {
		return e
	}
	if op.Verb == Symlink {
		m.add(p, &node{kind: vfs.Symlink, mode: 0o777, target: op.To})
	} else {
		m.add(p, &node{kind: vfs.Dir, mode: op.Mode, kids: make(map[string]*node), parent: p.dir})
	}
	return 0
}

func (m *Model) mkdirAll(op Op) vfs.Errno {
	for i := 1; i <= len(op.Path); i++ {
		if i < len(op.Path) && op.Path[i] != '/' {
			continue
		}
		p, e := m.find(op.Path[:i], follow)
		switch {
		case e == 0 && p.node.kind == vfs.Dir:
			continue
		case e == 0 && i < len(op.Path):
			return vfs.ENOTDIR
		case e == 0:
			return vfs.EEXIST
		case e != vfs.ENOENT:
			return e
		}
		if e := m.make(Op{Verb: Mkdir, Path: op.Path[:i], Mode: op.Mode}); e != 0 {
			return e
		}
	}
	return 0
}

func (m *Model) remove(op Op) vfs.Errno {
	p, e := m.find(op.Path, parent)
	if e != 0 {
		return e
	}
	if p.last != "" {
		switch {
		case op.Verb == Unlink:
			return vfs.EISDIR
		case p.last == ".":
			return vfs.EINVAL
		case p.last == "..":
			return vfs.ENOTEMPTY
		default:
			return vfs.EBUSY
		}
	}
	if p.long {
		return vfs.ENAMETOOLONG
	}
	if p.node == nil {
		return vfs.ENOENT
	}
	dir := p.node.kind == vfs.Dir
	switch {
	case op.Verb == Unlink && dir:
		return vfs.EISDIR
	case op.Verb == Rmdir && !dir, p.slash && !dir:
		return vfs.ENOTDIR
	case op.Verb == Rmdir && len(p.node.kids) > 0:
		return vfs.ENOTEMPTY
	}
	delete(p.dir.kids, p.name)
	p.dir.mtime = m.now
	return 0
}

// above reports whether a is b or an ancestor of b.
func above(a, b *node) bool {
	for ; ; b = b.parent {
		if a == b {
			return true
		}
		if b == b.parent {
			return false
		}
	}
}

func (m *Model) rename(op Op) vfs.Errno {
	f, e := m.find(op.Path, parent)
	if e != 0 {
		return e
	}
	t, e := m.find(op.To, parent)
	if e != 0 {
		return e
	}
	if f.last != "" || t.last != "" {
		return vfs.EBUSY
	}
	if f.long {
		return vfs.ENAMETOOLONG
	}
	if f.node == nil {
		return vfs.ENOENT
	}
	if t.long {
		return vfs.ENAMETOOLONG
	}
	fromDir := f.node.kind == vfs.Dir
	toDir := t.node != nil && t.node.kind == vfs.Dir
	switch {
	case !fromDir && (f.slash || t.slash):
		return vfs.ENOTDIR
	case fromDir && above(f.node, t.dir):
		return vfs.EINVAL
	case toDir && above(t.node, f.dir):
		return vfs.ENOTEMPTY
	case f.node == t.node:
		return 0
	case t.node != nil && fromDir && !toDir:
		return vfs.ENOTDIR
	case !fromDir && toDir:
		return vfs.EISDIR
	case toDir && len(t.node.kids) > 0:
		return vfs.ENOTEMPTY
	}
	delete(f.dir.kids, f.name)
	t.dir.kids[t.name] = f.node
	f.dir.mtime, t.dir.mtime = m.now, m.now
	if fromDir {
		f.node.parent = t.dir
	}
	return 0
}

func (m *Model) link(op Op) vfs.Errno {
	f, e := m.find(op.Path, noFollow)
	if e != 0 {
		return e
	}
	t, e := m.vacant(op.To, false)
	if e != 0 {
		return e
	}
	if f.node.kind == vfs.Dir {
		return vfs.EPERM
	}
	t.dir.kids[t.name] = f.node
	t.dir.mtime = m.now
	return 0
}

func (m *Model) setAttr(op Op) vfs.Errno {
	f := follow
	if op.Verb != Chmod && !op.Follow {
		f = noFollow
	}
	p, e := m.find(op.Path, f)
	if e != 0 {
		return e
	}
	switch op.Verb {
	case Chmod:
		p.node.mode = op.Mode & 0o7777
	case Chown:
		if op.UID >= 0 {
			p.node.uid = uint32(op.UID)
		}
		if op.GID >= 0 {
			p.node.gid = uint32(op.GID)
		}
	case Utimes:
		p.node.mtime = op.Mtime
	}
	return 0
}
