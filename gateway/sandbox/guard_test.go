package sandbox

import (
	"reflect"
	"testing"

	"github.com/pgbox/pgbox/gateway/tree"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// Every verb that changes a tree gives a read-only script away, whatever the script does about the error.
func TestGuardNoticesEveryVerb(t *testing.T) {
	t.Parallel()
	inode := func(ino tree.Ino, kind tree.Kind, nlink uint32) tree.Inode {
		return tree.Inode{Ino: ino, Kind: kind, Mode: 0o755, Nlink: nlink}
	}
	f, d := tree.FirstIno, tree.FirstIno+1
	tr, err := tree.Empty().Patch(&tree.Patch{
		NextIno: tree.FirstIno + 2,
		Inodes:  []tree.Inode{inode(tree.RootIno, vfs.Dir, 3), inode(f, vfs.Regular, 1), inode(d, vfs.Dir, 2)},
		Dirents: []tree.DirentRow{{Parent: tree.RootIno, Name: "d", Ino: d}, {Parent: tree.RootIno, Name: "f", Ino: f}},
	})
	if err != nil {
		t.Fatal(err)
	}
	verbs := map[string]func(fs vfs.FS) error{
		"Open": func(fs vfs.FS) error {
			_, err := fs.Open("/f", vfs.WriteOnly, 0)
			return err
		},
		"Mkdir":    func(fs vfs.FS) error { return fs.Mkdir("/x", 0) },
		"Rmdir":    func(fs vfs.FS) error { return fs.Rmdir("/d") },
		"Unlink":   func(fs vfs.FS) error { return fs.Unlink("/f") },
		"Rename":   func(fs vfs.FS) error { return fs.Rename("/f", "/g") },
		"Link":     func(fs vfs.FS) error { return fs.Link("/f", "/g") },
		"Symlink":  func(fs vfs.FS) error { return fs.Symlink("f", "/g") },
		"Mknod":    func(fs vfs.FS) error { return fs.Mknod("/g", vfs.FIFO, 0, 0) },
		"Chmod":    func(fs vfs.FS) error { return fs.Chmod("/f", 0) },
		"Chown":    func(fs vfs.FS) error { return fs.Chown("/f", 1, 1, true) },
		"Utimes":   func(fs vfs.FS) error { return fs.Utimes("/f", 1, true) },
		"Truncate": func(fs vfs.FS) error { return fs.Truncate("/f", 0) },
	}
	reads := map[string]bool{"Stat": true, "Lstat": true, "ReadDir": true, "ReadFile": true, "Readlink": true,
		"Realpath": true, "Usage": true}
	for m := range reflect.TypeFor[vfs.FS]().Methods() {
		verb, changes := verbs[m.Name]
		if !changes {
			if !reads[m.Name] {
				t.Errorf("%s: does it read or change?", m.Name)
			}
			continue
		}
		g := &guardFS{Work: tr.Begin(t.Context(), tree.Options{ReadOnly: true})}
		if _, err := g.Stat("/f"); err != nil || g.violated() {
			t.Fatalf("%v, violated %v", err, g.violated())
		}
		err := verb(g)
		if e, ok := vfs.Of(err); !ok || e != vfs.EROFS || !g.violated() {
			t.Errorf("%s: %v, noticed %v", m.Name, err, g.violated())
		}
	}
}
