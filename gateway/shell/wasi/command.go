package wasi

import (
	"bytes"
	"context"
	"io/fs"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// Overlay is a directory of files that only the program sees.
type Overlay struct {
	Path  string
	Files fs.FS
}

// open finds a file of the overlay; ok is false for paths elsewhere.
func (o Overlay) open(path string) (f *file, st vfs.Stat, ok bool, err error) {
	if o.Files == nil || path != o.Path && !strings.HasPrefix(path, o.Path+"/") {
		return nil, st, false, nil
	}
	name := strings.Trim(strings.TrimPrefix(path, o.Path), "/")
	if name == "" {
		name = "."
	}
	info, err := fs.Stat(o.Files, name)
	if err != nil {
		return nil, st, true, vfs.ENOENT
	}
	st = vfs.Stat{Kind: vfs.Regular, Mode: 0o644, Nlink: 1, Size: info.Size()}
	if info.IsDir() {
		st.Kind, st.Mode = vfs.Dir, 0o755
		f := newDir(path)
		f.fixed, f.names = st, []vfs.Dirent{{Name: ".", Kind: vfs.Dir}, {Name: "..", Kind: vfs.Dir}}
		entries, _ := fs.ReadDir(o.Files, name)
		for _, e := range entries {
			kind := vfs.Regular
			if e.IsDir() {
				kind = vfs.Dir
			}
			f.names = append(f.names, vfs.Dirent{Name: e.Name(), Kind: kind})
		}
		return f, st, true, nil
	}
	data, err := fs.ReadFile(o.Files, name)
	if err != nil {
		return nil, st, true, vfs.EIO
	}
	return newFile(fixed{bytes.NewReader(data), st}, path, rightRead, false), st, true, nil
}

// fixed is an open file of an overlay.
type fixed struct {
	*bytes.Reader
	st vfs.Stat
}

func (fixed) Write([]byte) (int, error)          { return 0, vfs.EBADF }
func (fixed) WriteAt([]byte, int64) (int, error) { return 0, vfs.EBADF }
func (fixed) Truncate(int64) error               { return vfs.EINVAL }
func (fixed) Close() error                       { return nil }
func (f fixed) Stat() (vfs.Stat, error)          { return f.st, nil }

// nested marks the context of what a program has started.
type nested struct{}

// Nested reports whether a machine is wanted for somebody for whom another program waits, which holds one.
func Nested(ctx context.Context) bool { return ctx.Value(nested{}) != nil }

// Command runs a program on a machine as the process p and returns its exit status.
func Command(ctx context.Context, p *proc.Process, program string, job Job, over Overlay) int {
	if p.Machine == nil {
		p.Errorf("not available: this server has no %s; `pgbox runtimes install` on it installs it", program)
		return 127
	}
	p.Pause()
	m, err := p.Machine(ctx, program)
	if err != nil {
		p.Tick(1 << 20)
		p.Errorf("%v", err)
		return 126
	}
	idle := false
	defer func() { m.Release(idle) }()
	defer context.AfterFunc(ctx, func() { m.Release(false) })()
	var status int
	status, idle = run(p, m, job, over)
	return status
}
