package wasi

import (
	"encoding/binary"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// trap is the status of a program that the machine has ended: what a shell says of SIGABRT.
const trap = 134

// program is one run: what the system knows of it.
type program struct {
	p       *proc.Process
	over    Overlay
	files   []*file // by descriptor; nil where there is none
	memory  uint64  // bytes that are held for it
	scratch []byte

	marked   map[uint64]*file // descriptors that requests can name
	ends     map[string]*file // of pipes, that were not opened yet
	named    int
	children map[int]*child
	lastPID  int
}

// run runs a program on m as the process p and returns its exit status. It reports whether m came to an end of the
// program by itself, and so can be given another one.
func run(p *proc.Process, m io.ReadWriter, job Job, over Overlay) (status int, reusable bool) {
	g := &program{p: p, over: over, lastPID: p.PID, files: []*file{
		newFile(p.Stdin, "", rightRead, false), newFile(p.Stdout, "", rightWrite, false),
		newFile(p.Stderr, "", rightWrite, false), newDir("/"),
	}}
	defer g.end()
	if err := job.Send(m); err != nil {
		return g.lost(err), false
	}
	var frame []byte
	for {
		p.Pause()
		kind, f, err := Receive(m, frame)
		if err != nil {
			return g.lost(err), false
		}
		frame = f.B[:0]
		switch kind {
		case MsgUsage:
			g.usage(time.Duration(f.U64()), f.U64())
			continue
		case MsgExit:
			status := int(f.U32())
			if why := f.Bytes(); len(why) > 0 {
				p.Errorf("%s", why)
				status = trap
			}
			return status & 0xff, !f.Bad()
		}
		if err := g.answer(kind, &f, m); err != nil {
			return g.lost(err), false
		}
	}
}

// lost says why a machine is gone: the exec or the process was ended, which Tick finds out, or the machine broke.
func (g *program) lost(error) int {
	g.p.Tick(1 << 20)
	g.p.Errorf("ended by the system: out of memory, or a fault")
	return 137
}

// usage counts what the machine says it has used.
func (g *program) usage(cpu time.Duration, memory uint64) {
	if err := g.p.Budget.Charge(cpu); err != nil {
		panic(proc.Death{Status: 137, Killed: true, Cause: err})
	}
	if memory > g.memory {
		more := int(memory - g.memory)
		g.memory = memory
		g.p.Hold(more)
	}
}

// end lets go of what the program has left open.
func (g *program) end() {
	for _, f := range g.files {
		if f != nil {
			_ = f.release()
		}
	}
	for _, f := range g.ends {
		_ = f.release()
	}
	g.endChildren()
	g.p.Release(int(g.memory))
}

// answer makes a call and sends the machine what came of it.
func (g *program) answer(kind Call, f *Frame, m io.Writer) error {
	if int(kind) >= len(calls) || calls[kind] == nil {
		return errFrame
	}
	g.p.Tick(1 + len(f.B)>>10)
	out := NewFrame(g.scratch, kind)
	out.PutU16(0)
	errno := calls[kind](g, f, &out)
	if f.Bad() {
		return errFrame
	}
	g.scratch = out.B
	if errno != nil {
		out.B = out.B[:7]
		binary.LittleEndian.PutUint16(out.B[5:], uint16(errnoOf(errno)))
	}
	return out.Send(m)
}

// path is a name that the program gave, as an absolute one.
func (g *program) path(f *Frame) (string, error) {
	fd, name := f.U32(), string(f.Bytes())
	at, err := g.file(fd)
	switch {
	case err != nil:
		return "", err
	case at.dir == "":
		return "", vfs.ENOTDIR
	case strings.IndexByte(name, 0) >= 0:
		return "", vfs.EINVAL
	case name == "":
		return "", vfs.ENOENT
	case strings.HasPrefix(name, "/"):
		return name, nil
	}
	return strings.TrimSuffix(at.dir, "/") + "/" + name, nil
}

// file is what is open as a descriptor.
func (g *program) file(fd uint32) (*file, error) {
	if fd >= uint32(len(g.files)) || g.files[fd] == nil {
		return nil, vfs.EBADF
	}
	return g.files[fd], nil
}

// add gives a file the lowest free descriptor.
func (g *program) add(f *file) (uint32, error) {
	for i, have := range g.files {
		if have == nil {
			g.files[i] = f
			return uint32(i), nil
		}
	}
	if int64(len(g.files)) >= g.p.Budget.Limits.OpenFiles {
		_ = f.release()
		return 0, vfs.EMFILE
	}
	g.files = append(g.files, f)
	return uint32(len(g.files) - 1), nil
}

// Rights of a descriptor, as far as they tell a program what it may do with it.
const (
	rightRead    = 1 << 1
	rightSeek    = 1 << 2
	rightTell    = 1 << 5
	rightWrite   = 1 << 6
	rightReaddir = 1 << 14
	rightsAll    = 1<<30 - 1
)

const flagAppend = 1

// file is an open file description.
type file struct {
	stream any    // an io.Reader, io.Writer or vfs.File; nil for a directory
	dir    string // of a directory: its path
	path   string // as it was opened
	names  []vfs.Dirent
	flags  uint16
	rights uint64
	fixed  vfs.Stat // of a directory that is not the tree's
	owned  bool     // closed with the last descriptor
	refs   atomic.Int32
}

func newFile(stream any, path string, rights uint64, owned bool) *file {
	f := &file{stream: stream, path: path, rights: rights, owned: owned}
	f.refs.Store(1)
	return f
}

func newDir(path string) *file {
	f := newFile(nil, path, rightsAll, false)
	f.dir = path
	return f
}

// release lets go of one descriptor, of the program or of a child.
func (f *file) release() error {
	if c, ok := f.stream.(io.Closer); f.refs.Add(-1) == 0 && ok && f.owned {
		return c.Close()
	}
	return nil
}

func (f *file) stat(p *proc.Process) (vfs.Stat, error) {
	if f.fixed.Kind != 0 {
		return f.fixed, nil
	}
	if f.dir != "" {
		return p.FS.Stat(f.dir)
	}
	if s, ok := f.stream.(interface{ Stat() (vfs.Stat, error) }); ok {
		return s.Stat()
	}
	return vfs.Stat{Kind: vfs.FIFO, Mode: 0o600, Nlink: 1}, nil
}

// Types of files, as preview 1 numbers them. It has none for pipes.
var types = map[vfs.Kind]byte{vfs.Char: 2, vfs.Dir: 3, vfs.Regular: 4, vfs.Symlink: 7}

// putStat appends a filestat. The device number carries what preview 1 has no field for: the mode, and the owner above
// it.
func putStat(out *Frame, s vfs.Stat) {
	out.PutU64(1 | uint64(s.Mode&0o7777)<<8 | uint64(s.UID&0xffff)<<20 | uint64(s.GID&0xffff)<<36)
	out.PutU64(s.Ino)
	out.PutU64(uint64(types[s.Kind]))
	out.PutU64(uint64(s.Nlink))
	out.PutU64(uint64(s.Size))
	out.PutU64(uint64(max(s.Mtime, 0)))
	out.PutU64(uint64(max(s.Mtime, 0)))
	out.PutU64(uint64(max(s.Ctime, 0)))
}
