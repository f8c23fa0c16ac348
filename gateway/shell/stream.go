package shell

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// stream is what an open file description does.
type stream interface {
	read(ctx context.Context, b []byte) (int, error)
	write(ctx context.Context, b []byte) (int, error)
	// readUntil returns bytes up to and including delim (at most limit, fewer when no more are there yet) and
	// consumes no byte after them.
	readUntil(ctx context.Context, delim byte, limit int) ([]byte, error)
	close()
}

// desc is an open file description: descriptors that were duplicated or inherited share it.
type desc struct {
	stream
	refs   atomic.Int32
	budget *proc.Budget
}

// newDesc counts the description against the budget; nil means too many open files.
func newDesc(b *proc.Budget, s stream) *desc {
	if !b.OpenFile() {
		s.close()
		return nil
	}
	d := &desc{stream: s, budget: b}
	d.refs.Store(1)
	return d
}

func (d *desc) retain() *desc {
	d.refs.Add(1)
	return d
}

func (d *desc) release() {
	if d.refs.Add(-1) == 0 {
		d.budget.Locks.Release(d)
		d.close()
		d.budget.CloseFile()
	}
}

type pipeReader struct{ *pipe }

func (pipeReader) write(context.Context, []byte) (int, error) { return 0, vfs.EBADF }
func (p pipeReader) close()                                   { p.closeEnd(false) }

type pipeWriter struct{ *pipe }

func (pipeWriter) read(context.Context, []byte) (int, error) { return 0, vfs.EBADF }
func (pipeWriter) readUntil(context.Context, byte, int) ([]byte, error) {
	return nil, vfs.EBADF
}
func (p pipeWriter) close() { p.closeEnd(true) }

// memory is a read-only stream over bytes that are there already: a here-document.
type memory struct {
	mu     sync.Mutex
	b      []byte
	off    int64
	budget *proc.Budget
	held   int64
	pipe   bool // whatever its size: what the caller of the script gives it
}

// isPipe reports whether bash would have put the text into a pipe, which can neither seek nor tell its size, and not
// into a temporary file.
func (m *memory) isPipe() bool { return m.pipe || len(m.b) <= 65536 }

func (m *memory) read(_ context.Context, b []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.off >= int64(len(m.b)) {
		return 0, io.EOF
	}
	n := copy(b, m.b[m.off:])
	m.off += int64(n)
	return n, nil
}

func (m *memory) readUntil(_ context.Context, delim byte, limit int) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.off >= int64(len(m.b)) {
		return nil, io.EOF
	}
	rest := m.b[m.off:]
	k := bytes.IndexByte(rest, delim) + 1
	if k == 0 {
		k = len(rest)
	}
	k = min(k, limit)
	m.off += int64(k)
	return rest[:k:k], nil
}

func (*memory) write(context.Context, []byte) (int, error) { return 0, vfs.EBADF }

func (m *memory) close() { m.budget.Release(m.held) }

// fileStream is an open file of the sandbox.
type fileStream struct {
	mu   sync.Mutex
	f    vfs.File
	path string
}

func (s *fileStream) read(_ context.Context, b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.f.Read(b)
}

func (s *fileStream) write(ctx context.Context, b []byte) (int, error) {
	if ctx.Err() != nil {
		return 0, vfs.EPIPE
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.f.Write(b)
}

func (s *fileStream) readUntil(_ context.Context, delim byte, limit int) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	pos, err := s.f.Seek(0, io.SeekCurrent)
	seekable := err == nil
	size := 256
	if !seekable {
		size = 1
	}
	buf := make([]byte, min(size, limit))
	n, err := s.f.Read(buf)
	if n == 0 {
		if err == nil {
			err = io.EOF
		}
		return nil, err
	}
	k := bytes.IndexByte(buf[:n], delim) + 1
	if k == 0 {
		k = n
	}
	if k < n {
		if _, err := s.f.Seek(pos+int64(k), io.SeekStart); err != nil {
			return nil, err
		}
	}
	return buf[:k], nil
}

func (s *fileStream) close() { _ = s.f.Close() }

// nullInput is what a process reads that was given nothing: /dev/null, even where the script has removed its own.
func nullInput() stream { return &fileStream{f: vfs.NullInput{}, path: "/dev/null"} }

// dirStream is an open directory: reading it fails.
type dirStream struct{ fileStream }

func (*dirStream) read(context.Context, []byte) (int, error) { return 0, vfs.EISDIR }
func (*dirStream) readUntil(context.Context, byte, int) ([]byte, error) {
	return nil, vfs.EISDIR
}

// sink is one of the streams the exec was given to print on.
type sink struct {
	mu sync.Mutex
	w  io.Writer
}

func (*sink) read(context.Context, []byte) (int, error)            { return 0, vfs.EBADF }
func (*sink) readUntil(context.Context, byte, int) ([]byte, error) { return nil, vfs.EBADF }
func (*sink) close()                                               {}
func (s *sink) write(ctx context.Context, b []byte) (int, error) {
	if ctx.Err() != nil {
		return 0, vfs.EPIPE
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.w.Write(b)
	if err != nil {
		if _, ok := vfs.Of(err); !ok {
			err = vfs.EPIPE
		}
	}
	return n, err
}

// captureBlock is how large the pieces become in which a capture keeps what it gets: what grows as a whole is copied as
// a whole, and nothing ends a copy of hundreds of megabytes.
const captureBlock = 1 << 20

// capture collects the output of a command substitution.
type capture struct {
	mu     sync.Mutex
	full   [][]byte
	b      []byte // the last piece, which still grows
	n      int    // in all pieces
	held   int64
	closed chan struct{}
	budget *proc.Budget
}

func (*capture) read(context.Context, []byte) (int, error)            { return 0, vfs.EBADF }
func (*capture) readUntil(context.Context, byte, int) ([]byte, error) { return nil, vfs.EBADF }
func (c *capture) close()                                             { close(c.closed) }
func (c *capture) write(ctx context.Context, b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	done := 0
	for {
		if ctx.Err() != nil {
			return done, vfs.EPIPE
		}
		if len(c.b) == cap(c.b) || cap(c.b) < captureBlock && len(c.b)+len(b)-done > cap(c.b) {
			if err := c.grow(len(b) - done); err != nil {
				return done, err
			}
		}
		n := min(len(b)-done, cap(c.b)-len(c.b))
		c.b = append(c.b, b[done:done+n]...)
		c.n += n
		if done += n; done == len(b) {
			return done, nil
		}
	}
}

// grow makes room for n more bytes, or for a part of them.
func (c *capture) grow(n int) error {
	size := min(max(len(c.b)+n, 2*cap(c.b), 512), captureBlock)
	old := c.b
	if len(old) == captureBlock {
		old = nil
	}
	more := int64(size - cap(old))
	if err := c.budget.Hold(more); err != nil {
		return err
	}
	c.held += more
	if old == nil && len(c.b) > 0 {
		c.full = append(c.full, c.b)
	}
	c.b = append(make([]byte, 0, size), old...)
	return nil
}

// text is all that came; alive is called between the pieces and does not return when the script has been ended.
func (c *capture) text(alive func()) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.full) == 0 {
		return proc.String(c.b), nil
	}
	if err := c.budget.Hold(int64(c.n)); err != nil {
		return "", err
	}
	c.held += int64(c.n)
	var out strings.Builder
	out.Grow(c.n)
	for i, b := range append(c.full, c.b) {
		alive()
		out.Write(b)
		if i < len(c.full) {
			c.full[i] = nil
		}
	}
	return out.String(), nil
}

// handle is a description as a command sees it: bound to the context of the process that runs it.
type handle struct {
	d   *desc
	ctx context.Context
}

func (h *handle) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	return h.d.read(h.ctx, b)
}

func (h *handle) Write(b []byte) (int, error) { return h.d.write(h.ctx, b) }

// fileHandle is a handle of a file of the sandbox: it can also seek, stat and truncate.
type fileHandle struct {
	handle
	s *fileStream
}

// LockOwner is what holds the locks of flock(2): the description, which descriptors share.
func (h *fileHandle) LockOwner() any { return h.d }

func (h *fileHandle) ReadAt(b []byte, off int64) (int, error)  { return h.s.f.ReadAt(b, off) }
func (h *fileHandle) WriteAt(b []byte, off int64) (int, error) { return h.s.f.WriteAt(b, off) }
func (h *fileHandle) Stat() (vfs.Stat, error)                  { return h.s.f.Stat() }
func (h *fileHandle) Close() error                             { return nil }

func (h *fileHandle) Seek(off int64, whence int) (int64, error) {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	return h.s.f.Seek(off, whence)
}

func (h *fileHandle) Truncate(n int64) error {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	return h.s.f.Truncate(n)
}

// memHandle is a handle of a long here-document, which is an unnamed temporary file: it can seek.
type memHandle struct {
	handle
	m *memory
}

func (h *memHandle) Seek(off int64, whence int) (int64, error) {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	switch whence {
	case io.SeekCurrent:
		off += h.m.off
	case io.SeekEnd:
		off += int64(len(h.m.b))
	}
	if off < 0 {
		return 0, vfs.EINVAL
	}
	h.m.off = off
	return off, nil
}

func (h *memHandle) ReadAt(b []byte, off int64) (int, error) {
	if off < 0 {
		return 0, vfs.EINVAL
	}
	if off >= int64(len(h.m.b)) {
		return 0, io.EOF
	}
	n := copy(b, h.m.b[off:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (h *memHandle) WriteAt([]byte, int64) (int, error) { return 0, vfs.EBADF }
func (h *memHandle) Truncate(int64) error               { return vfs.EINVAL }
func (h *memHandle) Close() error                       { return nil }
func (h *memHandle) Stat() (vfs.Stat, error) {
	return vfs.Stat{Kind: vfs.Regular, Mode: 0o600, Size: int64(len(h.m.b))}, nil
}

// closedFD stands for a descriptor that is not open.
type closedFD struct{}

func (closedFD) Read([]byte) (int, error)  { return 0, vfs.EBADF }
func (closedFD) Write([]byte) (int, error) { return 0, vfs.EBADF }

// bind gives a command its view of a description.
func bind(ctx context.Context, d *desc) any {
	if d == nil {
		return closedFD{}
	}
	h := handle{d, ctx}
	switch s := d.stream.(type) {
	case *fileStream:
		return &fileHandle{h, s}
	case *dirStream:
		return &fileHandle{h, &s.fileStream}
	case *memory:
		if !s.isPipe() {
			return &memHandle{h, s}
		}
	}
	return &h
}

// foreign is a stream that a program handed to its child: xargs and find do.
type foreign struct {
	r io.Reader
	w io.Writer
}

func (f *foreign) read(_ context.Context, b []byte) (int, error) {
	if f.r == nil {
		return 0, vfs.EBADF
	}
	return f.r.Read(b)
}

func (f *foreign) write(_ context.Context, b []byte) (int, error) {
	if f.w == nil {
		return 0, vfs.EBADF
	}
	return f.w.Write(b)
}

func (f *foreign) readUntil(_ context.Context, _ byte, _ int) ([]byte, error) {
	if f.r == nil {
		return nil, vfs.EBADF
	}
	b := make([]byte, 1)
	for {
		n, err := f.r.Read(b)
		if n > 0 {
			return b, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (*foreign) close() {}

// unbind turns what a command was given (or made) back into a description.
func unbind(b *proc.Budget, v any) *desc {
	switch h := v.(type) {
	case *handle:
		return h.d.retain()
	case *fileHandle:
		return h.d.retain()
	case *memHandle:
		return h.d.retain()
	case vfs.NullInput:
		return newDesc(b, nullInput())
	case closedFD, nil:
		return nil
	}
	f := &foreign{}
	f.r, _ = v.(io.Reader)
	f.w, _ = v.(io.Writer)
	return newDesc(b, f)
}

// pump copies a reader of the outside into a pipe, so that reading it can be given up. Its goroutine ends when
// the reader does; whoever hands in a reader that blocks closes it.
func pump(r io.Reader, p *pipe) {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if _, werr := p.write(context.Background(), buf[:n]); werr != nil {
				break
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				p.mu.Lock()
				p.err = vfs.EIO
				p.mu.Unlock()
			}
			break
		}
	}
	p.closeEnd(true)
}

// fdTable maps descriptor numbers to descriptions; each entry holds one reference.
type fdTable struct {
	low  [10]*desc
	high map[int]*desc
}

func (t *fdTable) get(n int) *desc {
	if n >= 0 && n < len(t.low) {
		return t.low[n]
	}
	return t.high[n]
}

// put stores d, which may be nil, without touching what was there.
func (t *fdTable) put(n int, d *desc) {
	if n < 0 {
		return
	}
	if n < len(t.low) {
		t.low[n] = d
		return
	}
	if d == nil {
		delete(t.high, n)
		return
	}
	if t.high == nil {
		t.high = map[int]*desc{}
	}
	t.high[n] = d
}

// set stores d and lets go of what was there.
func (t *fdTable) set(n int, d *desc) {
	if old := t.get(n); old != nil {
		old.release()
	}
	t.put(n, d)
}

func (t *fdTable) clone() fdTable {
	c := fdTable{low: t.low}
	for _, d := range c.low {
		if d != nil {
			d.retain()
		}
	}
	if len(t.high) > 0 {
		c.high = make(map[int]*desc, len(t.high))
		for n, d := range t.high {
			c.high[n] = d.retain()
		}
	}
	return c
}

func (t *fdTable) closeAll() {
	for i, d := range t.low {
		if d != nil {
			d.release()
			t.low[i] = nil
		}
	}
	for n, d := range t.high {
		d.release()
		delete(t.high, n)
	}
}

// free returns the lowest descriptor from min on that is not open.
func (t *fdTable) free(min int) int {
	for n := min; ; n++ {
		if t.get(n) == nil {
			return n
		}
	}
}
