package shell

import (
	"context"
	"errors"
	"io"

	"github.com/pgbox/pgbox/gateway/vfs"
)

// A FIFO is an inode of the tree, and a pipe as long as a process of the exec has it open: nothing that is in it
// outlives the exec.

// openFIFO opens the FIFO at path as open(2) does: one end waits for the other, and both together for none.
func (x *exec) openFIFO(ctx context.Context, path string, flag int) (stream, error) {
	st, err := x.fs.Stat(path)
	if err != nil {
		return nil, err
	}
	if st.Kind != vfs.FIFO {
		return nil, vfs.ENXIO
	}
	x.mu.Lock()
	p := x.fifos[st.Ino]
	if p == nil {
		p = newPipe(x.budget)
		p.readers, p.writers = 0, 0
		p.empty = func() { x.forgetFIFO(st.Ino, p) }
		x.fifos[st.Ino] = p
	}
	p.mu.Lock()
	x.mu.Unlock()
	defer p.mu.Unlock()
	reads, writes := flag&(vfs.WriteOnly|vfs.ReadWrite) == 0, flag&vfs.WriteOnly != 0
	if !writes {
		p.readers++
		p.reads++
	}
	if !reads {
		p.writers++
		p.writes++
	}
	p.cond.Broadcast()
	peers, other := &p.writers, &p.writes
	switch {
	case writes:
		peers, other = &p.readers, &p.reads
	case !reads:
		return fifoBoth{p}, nil
	}
	// A peer that has come and gone again has let this end through as well.
	for seen := *other; *peers == 0 && *other == seen; {
		if ctx.Err() != nil {
			p.mu.Unlock()
			p.closeEnd(writes)
			p.mu.Lock()
			return nil, vfs.EINTR
		}
		p.wait(ctx)
	}
	if writes {
		return pipeWriter{p}, nil
	}
	return pipeReader{p}, nil
}

// forgetFIFO lets go of a pipe that nobody has open.
func (x *exec) forgetFIFO(ino uint64, p *pipe) {
	x.mu.Lock()
	defer x.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.readers == 0 && p.writers == 0 && x.fifos[ino] == p {
		delete(x.fifos, ino)
	}
}

// fifoBoth is both ends of a FIFO.
type fifoBoth struct{ *pipe }

func (f fifoBoth) close() {
	f.closeEnd(false)
	f.closeEnd(true)
}

// isFIFO reports whether err says that a FIFO is not the tree's to open.
func isFIFO(err error) bool { return errors.Is(err, vfs.EOPNOTSUPP) }

// fifos opens FIFOs for a program; what it leaves open is closed with it.
type fifos struct {
	x    *exec
	open []*fifoFile
}

// Open is proc.Process.FIFO.
func (o *fifos) Open(ctx context.Context, path string, flag int) (vfs.File, error) {
	s, err := o.x.openFIFO(ctx, path, flag)
	if err != nil {
		return nil, err
	}
	d := newDesc(o.x.budget, s)
	if d == nil {
		return nil, vfs.EMFILE
	}
	f := &fifoFile{handle: handle{d, ctx}}
	o.x.mu.Lock()
	defer o.x.mu.Unlock()
	o.open = append(o.open, f)
	return f, nil
}

// Pipe is proc.Process.Pipe.
func (o *fifos) Pipe(ctx context.Context) (r, w vfs.File, err error) {
	p := newPipe(o.x.budget)
	rd, wd := newDesc(o.x.budget, pipeReader{p}), newDesc(o.x.budget, pipeWriter{p})
	if rd == nil || wd == nil {
		for _, d := range []*desc{rd, wd} {
			if d != nil {
				d.release()
			}
		}
		return nil, nil, vfs.EMFILE
	}
	ends := []*fifoFile{{handle: handle{rd, ctx}}, {handle: handle{wd, ctx}}}
	o.x.mu.Lock()
	defer o.x.mu.Unlock()
	o.open = append(o.open, ends...)
	return ends[0], ends[1], nil
}

// Bind is the file for somebody who waits under another context.
func (f *fifoFile) Bind(ctx context.Context) vfs.File { return &fifoFile{handle: handle{f.d, ctx}} }

// closeAll closes what the program has left open.
func (o *fifos) closeAll() {
	o.x.mu.Lock()
	open := o.open
	o.open = nil
	o.x.mu.Unlock()
	for _, f := range open {
		_ = f.Close()
	}
}

// fifoFile is a FIFO as a program has it open.
type fifoFile struct {
	handle
	closed bool
}

func (f *fifoFile) Close() error {
	if !f.closed {
		f.closed = true
		f.d.release()
	}
	return nil
}

func (f *fifoFile) ReadAt([]byte, int64) (int, error)  { return 0, vfs.ESPIPE }
func (f *fifoFile) WriteAt([]byte, int64) (int, error) { return 0, vfs.ESPIPE }
func (f *fifoFile) Seek(int64, int) (int64, error)     { return 0, vfs.ESPIPE }
func (f *fifoFile) Truncate(int64) error               { return vfs.EINVAL }
func (f *fifoFile) Stat() (vfs.Stat, error) {
	return vfs.Stat{Kind: vfs.FIFO, Mode: 0o600, Nlink: 1}, nil
}

var _ io.Closer = (*fifoFile)(nil)
