package model

import (
	"fmt"
	"strings"

	"github.com/pgbox/pgbox/gateway/vfs"
)

// Verb is an operation, named like the function of schema fs that does it where there is one.
type Verb string

// The verbs. Those without a function of the same name in schema fs are marked.
const (
	WriteFile  Verb = "write_file"  // Path, Data, Mode
	AppendFile Verb = "append_file" // Path, Data, Mode
	WriteAt    Verb = "write_at"    // Path, Data, Off: of an existing file (pwrite)
	Truncate   Verb = "truncate"    // Path, Off: the new size
	ReadFile   Verb = "read_file"   // Path, Off, Len (-1: to the end); Result.Data
	Mkdir      Verb = "mkdir"       // Path, Mode
	MkdirAll   Verb = "mkdir_all"   // Path, Mode; mkdir with parents
	Rmdir      Verb = "rmdir"       // Path
	Unlink     Verb = "unlink"      // Path
	RemoveAll  Verb = "remove_all"  // Path; rm, recursive
	Rename     Verb = "mv"          // Path, To; rename(2), not mv(1)
	Link       Verb = "link"        // Path, To: the new name
	Symlink    Verb = "symlink"     // To: the target, Path: the new name
	Readlink   Verb = "readlink"    // Path; Result.Text
	Realpath   Verb = "realpath"    // Path; Result.Text
	Chmod      Verb = "chmod"       // Path, Mode
	Chown      Verb = "chown"       // Path, UID, GID, Follow
	Utimes     Verb = "utimes"      // Path, Mtime, Follow
	Stat       Verb = "stat"        // Path; Result.Stat
	Lstat      Verb = "lstat"       // Path; Result.Stat
	Readdir    Verb = "readdir"     // Path; Result.Names
)

// AllVerbs is every verb.
var AllVerbs = []Verb{
	WriteFile, AppendFile, WriteAt, Truncate, ReadFile, Mkdir, MkdirAll, Rmdir, Unlink, RemoveAll, Rename, Link, Symlink,
	Readlink, Realpath, Chmod, Chown, Utimes, Stat, Lstat, Readdir,
}

// Op is one operation; which fields count depends on the verb.
type Op struct {
	Verb     Verb
	Path     string
	To       string
	Data     []byte
	Off, Len int64
	Mode     uint32
	UID, GID int // -1: unchanged
	Mtime    int64
	Follow   bool
}

func (o Op) String() string {
	s := fmt.Sprintf("%s %q", o.Verb, short(o.Path))
	switch o.Verb {
	case WriteFile, AppendFile:
		return fmt.Sprintf("%s data=%d bytes mode=%#o", s, len(o.Data), o.Mode)
	case WriteAt:
		return fmt.Sprintf("%s off=%d data=%d bytes", s, o.Off, len(o.Data))
	case Truncate:
		return fmt.Sprintf("%s size=%d", s, o.Off)
	case ReadFile:
		return fmt.Sprintf("%s off=%d len=%d", s, o.Off, o.Len)
	case Mkdir, MkdirAll, Chmod:
		return fmt.Sprintf("%s mode=%#o", s, o.Mode)
	case Rename, Link, Symlink:
		return fmt.Sprintf("%s to=%q", s, short(o.To))
	case Chown:
		return fmt.Sprintf("%s uid=%d gid=%d follow=%v", s, o.UID, o.GID, o.Follow)
	case Utimes:
		return fmt.Sprintf("%s mtime=%d follow=%v", s, o.Mtime, o.Follow)
	}
	return s
}

func short(s string) string {
	if len(s) > 200 {
		return fmt.Sprintf("%s…(%d bytes)", strings.ToValidUTF8(s[:40], "?"), len(s))
	}
	return s
}

// Attr is what stat tells of an inode. Size counts for regular files and symlinks only.
type Attr struct {
	Kind  vfs.Kind
	Mode  uint32
	UID   uint32
	GID   uint32
	Nlink uint32
	Size  int64
	Mtime int64
}

// Name is one entry of a directory listing.
type Name struct {
	Name string
	Kind vfs.Kind
}

// Result is what an operation returned.
type Result struct {
	Data  []byte
	Text  string
	Stat  Attr
	Names []Name
}

// Entry is one name of a dumped tree.
type Entry struct {
	Path   string // canonical; "/" comes first, then byte order
	Attr   Attr
	Sum    string // lower-case hex SHA-256 of a regular file's content, holes as zeros
	Target string // of a symlink
	Same   string // first path, in dump order, of the same inode
}

func (e Entry) String() string {
	return fmt.Sprintf("%s kind=%d mode=%#o uid=%d gid=%d nlink=%d size=%d mtime=%d sum=%.12s target=%q same=%s",
		short(e.Path), e.Attr.Kind, e.Attr.Mode, e.Attr.UID, e.Attr.GID, e.Attr.Nlink, e.Attr.Size, e.Attr.Mtime, e.Sum,
		e.Target, short(e.Same))
}

// Target is an implementation of the filesystem. Errno 0 is success; a failure that is not an errno at all must fail
// the test at once.
type Target interface {
	Apply(op Op) (Result, vfs.Errno)
	// Dump lists the whole tree.
	Dump() []Entry
}
