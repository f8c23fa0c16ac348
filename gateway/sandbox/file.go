package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/cache"
	"github.com/pgbox/pgbox/gateway/tree"
	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/gateway/wire"
)

// Modes of what the verbs create.
const (
	fileMode = 0o644
	dirMode  = 0o755
)

// Info describes one file of a sandbox.
type Info struct {
	Path string // canonical, absolute
	vfs.Stat
}

// File is an open regular file of one version of a sandbox; it does not change while it is open. It is
// made for http.ServeContent.
type File struct {
	Info
	ETag    string // changes exactly when the content does; without quotes
	Version int64  // the sandbox's version it was read at
	io.ReadSeekCloser
}

// WriteOptions refine WriteFile.
type WriteOptions struct {
	IfMatch string // the ETag the file must have, "*" for any existing file; otherwise PRECONDITION_FAILED
}

// IngestFile is one file of an ingest; Path is relative to the base path.
type IngestFile struct {
	Path   string
	Data   []byte
	Mode   uint32 // permission bits; 0: 0644 for a new file, unchanged for an existing one
	Target string // not empty: a symlink to it, without Data and Mode
}

// InvalidIngestPaths returns those of paths that an ingest refuses: absolute ones and those with an empty, "." or ".."
// segment or a NUL.
func InvalidIngestPaths(paths []string) []string {
	var bad []string
	for _, p := range paths {
		ok := strings.IndexByte(p, 0) < 0
		for seg := range strings.SplitSeq(p, "/") {
			if seg == "" || seg == "." || seg == ".." {
				ok = false
				break
			}
		}
		if !ok {
			bad = append(bad, p)
		}
	}
	return bad
}

// absolute refuses what no verb takes as a path.
func absolute(path string) error {
	if !strings.HasPrefix(path, "/") {
		return newError(wire.CodeEINVAL, vfs.EINVAL, "path: must be absolute")
	}
	return nil
}

// etag is the identity of a file's content: the SHA-256 of a file of one chunk, and that of the chunks' SHA-256 for a
// longer one. A hole counts as the zeros it reads as.
func etag(in *tree.Inode) string {
	n := (in.Size + tree.ChunkSize - 1) / tree.ChunkSize
	if n <= 1 {
		sum := chunkSum(in, 0)
		return hex.EncodeToString(sum[:])
	}
	h := sha256.New()
	for i := range n {
		sum := chunkSum(in, i)
		h.Write(sum[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// contentETag is the etag of a file with this content.
func contentETag(data []byte) string {
	sum := sha256.Sum256(data)
	if len(data) > tree.ChunkSize {
		h := sha256.New()
		for chunk := range slices.Chunk(data, tree.ChunkSize) {
			part := sha256.Sum256(chunk)
			h.Write(part[:])
		}
		sum = [sha256.Size]byte(h.Sum(nil))
	}
	return hex.EncodeToString(sum[:])
}

var zeroChunk = sync.OnceValue(func() tree.Hash { return sha256.Sum256(make([]byte, tree.ChunkSize)) })

func chunkSum(in *tree.Inode, idx int64) tree.Hash {
	if h := in.Chunk(uint32(idx)); h != (tree.Hash{}) {
		return h
	}
	if left := in.Size - idx*tree.ChunkSize; left < tree.ChunkSize {
		return sha256.Sum256(make([]byte, left))
	}
	return zeroChunk()
}

// Stat describes a file, following symlinks.
func (s *Service) Stat(ctx context.Context, c Caller, id uuid.UUID, path string) (*Info, error) {
	var info *Info
	err := s.view(ctx, c, id, "stat "+path, func(w *tree.Work, begin func() error) (err error) {
		if info, err = describe(w, path); err != nil {
			return err
		}
		return begin()
	})
	return info, err
}

func describe(w *tree.Work, path string) (*Info, error) {
	if err := absolute(path); err != nil {
		return nil, err
	}
	real, err := w.Realpath(path)
	if err != nil {
		return nil, err
	}
	st, err := w.Stat(path)
	return &Info{real, st}, err
}

// OpenFile opens a regular file for reading; EISDIR for a directory. The caller closes it.
func (s *Service) OpenFile(ctx context.Context, c Caller, id uuid.UUID, path string) (*File, error) {
	began := s.cfg.Now()
	f, err := s.openFile(ctx, c, id, path)
	if err = s.noteRead(ctx, c, id, "read "+path, began, err); err != nil && f != nil {
		_ = f.Close()
		f = nil
	}
	return f, err
}

func (s *Service) openFile(ctx context.Context, c Caller, id uuid.UUID, path string) (*File, error) {
	ctx, end, err := s.calls.begin(ctx)
	if err != nil {
		return nil, toError(err)
	}
	pin, err := s.pinRead(ctx, c, id)
	if err != nil {
		end()
		return nil, toError(err)
	}
	f, err := s.open(ctx, pin, path)
	if err != nil {
		pin.Release()
		end()
		return nil, toError(err)
	}
	var once sync.Once
	f.ReadSeekCloser = &pinned{f.ReadSeekCloser, func() { once.Do(func() { pin.Release(); end() }) }}
	return f, nil
}

func (s *Service) open(ctx context.Context, pin cache.Pin, path string) (*File, error) {
	w := pin.Tree.Begin(ctx, s.options(pin.Fence, true))
	info, err := describe(w, path)
	if err != nil {
		return nil, err
	}
	switch info.Kind {
	case vfs.Regular:
	case vfs.Dir:
		return nil, vfs.Path("open", path, vfs.EISDIR)
	default:
		return nil, vfs.Path("open", path, vfs.EINVAL)
	}
	f, err := w.Open(path, vfs.ReadOnly, 0)
	if err != nil {
		return nil, err
	}
	return &File{Info: *info, ETag: etag(pin.Tree.Inode(tree.Ino(info.Ino))), Version: pin.Fence.Version,
		ReadSeekCloser: f}, nil
}

// pinned is a file that holds the tree it belongs to.
type pinned struct {
	io.ReadSeekCloser
	release func()
}

func (p *pinned) Close() error {
	err := p.ReadSeekCloser.Close()
	p.release()
	return err
}

// WriteFile creates or replaces a file. Missing parents are made; an existing file keeps its mode.
func (s *Service) WriteFile(
	ctx context.Context, c Caller, id uuid.UUID, path string, data []byte, o WriteOptions,
) (*Info, error) {
	if err := absolute(path); err != nil {
		return nil, err
	}
	var info *Info
	err := s.Update(ctx, c, id, "write", path, func(t *tree.Tree, w *tree.Work) (err error) {
		if err := matches(t, path, o.IfMatch); err != nil {
			return err
		}
		if err := writeFile(w, path, data, fileMode); err != nil {
			return err
		}
		info, err = describe(w, path)
		return err
	})
	return info, err
}

// matches fails unless the file has the ETag, "*" for any, "" for no matter which.
func matches(t *tree.Tree, path, ifMatch string) error {
	if ifMatch == "" {
		return nil
	}
	in, err := t.Lookup(path, true)
	if err != nil || in.Kind != vfs.Regular || ifMatch != "*" && ifMatch != etag(in) {
		return newError(wire.CodePreconditionFailed, err, "the file is not what If-Match says")
	}
	return nil
}

// writeFile writes a file and makes the directories above it.
func writeFile(w *tree.Work, path string, data []byte, mode uint32) error {
	err := w.WriteFile(path, data, mode)
	if e, ok := vfs.Of(err); !ok || e != vfs.ENOENT || strings.HasSuffix(path, "/") {
		return err
	}
	if err := w.MkdirAll(path[:strings.LastIndexByte(path, '/')+1], dirMode); err != nil {
		return err
	}
	return w.WriteFile(path, data, mode)
}

// Delete removes a file or an empty directory, with recursive a whole directory.
func (s *Service) Delete(ctx context.Context, c Caller, id uuid.UUID, path string, recursive bool) error {
	if err := absolute(path); err != nil {
		return err
	}
	return s.Update(ctx, c, id, "delete", path, func(_ *tree.Tree, w *tree.Work) error {
		if recursive {
			return w.RemoveAll(path)
		}
		st, err := w.Lstat(path)
		if err != nil {
			return err
		}
		if st.IsDir() {
			return w.Rmdir(path)
		}
		return w.Unlink(path)
	})
}

// Mkdir makes a directory, with recursive its parents too (then an existing directory is not an error).
func (s *Service) Mkdir(ctx context.Context, c Caller, id uuid.UUID, path string, recursive bool) error {
	if err := absolute(path); err != nil {
		return err
	}
	return s.Update(ctx, c, id, "mkdir", path, func(_ *tree.Tree, w *tree.Work) error {
		if recursive {
			return w.MkdirAll(path, dirMode)
		}
		return w.Mkdir(path, dirMode)
	})
}

// WriteFiles writes several files by absolute path, all or none.
func (s *Service) WriteFiles(ctx context.Context, c Caller, id uuid.UUID, files map[string][]byte) error {
	for path := range files {
		if err := absolute(path); err != nil {
			return err
		}
	}
	return s.Update(ctx, c, id, "writeFiles", fmt.Sprintf("(%d files)", len(files)),
		func(_ *tree.Tree, w *tree.Work) error {
			return writeAll(w, files)
		})
}

func writeAll(w *tree.Work, files map[string][]byte) error {
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if err := writeFile(w, path, files[path], fileMode); err != nil {
			return err
		}
	}
	return nil
}

// Ingest writes files under a base directory, all or none, and returns how many. Two paths that name one
// file are EEXIST.
func (s *Service) Ingest(ctx context.Context, c Caller, id uuid.UUID, base string, files []IngestFile) (int, error) {
	if err := absolute(base); err != nil {
		return 0, err
	}
	paths := make([]string, len(files))
	seen := make(map[string]struct{}, len(files))
	for i := range files {
		paths[i] = files[i].Path
		if _, twice := seen[paths[i]]; twice {
			return 0, newError(wire.CodeEEXIST, vfs.EEXIST, fmt.Sprintf("%q is there twice", paths[i]))
		}
		seen[paths[i]] = struct{}{}
	}
	if bad := InvalidIngestPaths(paths); len(bad) > 0 {
		e := newError(wire.CodeInvalidInput, nil, "validation_error")
		e.Details = []string{"invalid paths: " + strings.Join(bad, ", ")}
		return 0, e
	}
	err := s.Update(ctx, c, id, "ingest", fmt.Sprintf("%s (%d files)", base, len(files)),
		func(_ *tree.Tree, w *tree.Work) error {
			return ingest(w, strings.TrimRight(base, "/"), files)
		})
	if err != nil {
		return 0, err
	}
	return len(files), nil
}

func ingest(w *tree.Work, base string, files []IngestFile) error {
	if base != "" {
		if err := w.MkdirAll(base, dirMode); err != nil {
			return err
		}
	}
	written := make(map[uint64]bool, len(files))
	for i := range files {
		f := &files[i]
		path := base + "/" + f.Path
		if f.Target == "" {
			mode := f.Mode
			if mode == 0 {
				mode = fileMode
			}
			if err := writeFile(w, path, f.Data, mode&0o7777); err != nil {
				return err
			}
			st, err := w.Stat(path)
			if err != nil {
				return err
			}
			// Through a symlink to a directory two names can mean one file.
			if written[st.Ino] {
				return vfs.Path("ingest", path, vfs.EEXIST)
			}
			written[st.Ino] = true
			if f.Mode != 0 && st.Mode != f.Mode&0o7777 { // of a file that was there before, too
				if err := w.Chmod(path, f.Mode&0o7777); err != nil {
					return err
				}
			}
			continue
		}
		if err := w.MkdirAll(path[:strings.LastIndexByte(path, '/')+1], dirMode); err != nil {
			return err
		}
		if st, err := w.Lstat(path); err == nil {
			if st.IsDir() {
				return vfs.Path("symlink", path, vfs.EEXIST)
			}
			if err := w.Unlink(path); err != nil {
				return err
			}
		}
		if err := w.Symlink(f.Target, path); err != nil {
			return err
		}
	}
	return nil
}

// Reader reads files of one version of a sandbox. What ReadFile returns must not be modified.
type Reader interface {
	ReadFile(path string) ([]byte, error)
	Readlink(path string) (string, error)
}

// Export calls visit for path and everything below it, parents first, all of one version, which r reads.
func (s *Service) Export(
	ctx context.Context, c Caller, id uuid.UUID, path string, visit func(i Info, r Reader) error,
) error {
	if err := absolute(path); err != nil {
		return err
	}
	return s.view(ctx, c, id, "export "+path, func(w *tree.Work, begin func() error) error {
		info, err := describe(w, path)
		if err == nil {
			err = begin()
		}
		if err != nil {
			return err
		}
		if err := visit(*info, w); err != nil || !info.IsDir() {
			return err
		}
		return walk(ctx, w, info.Path, 1, 0, func(i Info) error { return visit(i, w) })
	})
}

// Walk calls visit for everything below prefix, parents first, in byte order of names, without prefix itself and
// without following symlinks; depth 1 is the direct children, 0 everything. It ends with the first error visit returns.
func (s *Service) Walk(
	ctx context.Context, c Caller, id uuid.UUID, prefix string, depth int, visit func(Info) error,
) error {
	if err := absolute(prefix); err != nil {
		return err
	}
	return s.view(ctx, c, id, "tree "+prefix, func(w *tree.Work, begin func() error) error {
		info, err := describe(w, prefix)
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return vfs.Path("readdir", prefix, vfs.ENOTDIR)
		}
		if err := begin(); err != nil {
			return err
		}
		return walk(ctx, w, info.Path, 1, depth, visit)
	})
}

func walk(ctx context.Context, w *tree.Work, dir string, level, depth int, visit func(Info) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	list, err := w.ReadDir(dir)
	if err != nil {
		return err
	}
	if dir == "/" {
		dir = ""
	}
	for _, d := range list {
		path := dir + "/" + d.Name
		st, err := w.Lstat(path)
		if err != nil {
			return err
		}
		if err := visit(Info{path, st}); err != nil {
			return err
		}
		if st.IsDir() && (depth <= 0 || level < depth) {
			if err := walk(ctx, w, path, level+1, depth, visit); err != nil {
				return err
			}
		}
	}
	return nil
}
