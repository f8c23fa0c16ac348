package wasi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// ControlPath is a file that only programs on machines can open. What is written into it at once is a [Request] in
// JSON, and what is read from it then is the [Response].
const ControlPath = "/.pgbox/control"

// endPath is the directory of the ends of pipes that a request has made: each can be opened once.
const endPath = "/.pgbox/fd/"

// markAdvice is the offset with which fd_advise gives a descriptor the name that is its length, by which requests can
// speak of it: a program's library may count descriptors otherwise than we do.
const markAdvice = 0x706762_6f7801

// Request is something that preview 1 has no call for.
type Request struct {
	Op   string `json:"op"` // one of requests
	Path string `json:"path"`
	Mode uint32 `json:"mode"`
	UID  int    `json:"uid"`
	GID  int    `json:"gid"`
	// Of spawn: what the child gets. FDs are marks of descriptors for its 0, 1 and 2.
	Args []string  `json:"args"`
	Env  []string  `json:"env"` // nil: that of the program
	Dir  string    `json:"dir"`
	FDs  [3]uint64 `json:"fds"`
	// Of wait and kill.
	PID    int  `json:"pid"`
	Signal int  `json:"signal"`
	Block  bool `json:"block"`
}

// Response is what came of it.
type Response struct {
	Errno    vfs.Errno `json:"errno,omitempty"` // of Linux
	PID      int       `json:"pid,omitempty"`
	Status   int       `json:"status"` // as wait(2) tells it
	Read     string    `json:"read,omitempty"`
	Write    string    `json:"write,omitempty"`
	Previous uint32    `json:"previous,omitempty"`
}

var requests = map[string]func(g *program, q *Request, a *Response) error{
	"chmod": func(g *program, q *Request, _ *Response) error { return g.p.FS.Chmod(g.p.Abs(q.Path), q.Mode&0o7777) },
	"chown": func(g *program, q *Request, _ *Response) error {
		return g.p.FS.Chown(g.p.Abs(q.Path), q.UID, q.GID, true)
	},
	"lchown": func(g *program, q *Request, _ *Response) error {
		return g.p.FS.Chown(g.p.Abs(q.Path), q.UID, q.GID, false)
	},
	"mkfifo": func(g *program, q *Request, _ *Response) error {
		return g.p.FS.Mknod(g.p.Abs(q.Path), vfs.FIFO, q.Mode&^g.p.Umask, 0)
	},
	"umask": func(g *program, q *Request, a *Response) error {
		a.Previous, g.p.Umask = g.p.Umask, q.Mode&0o777
		return nil
	},
	"pid":   func(g *program, _ *Request, a *Response) error { a.PID = g.p.PID; return nil },
	"pipe":  (*program).pipe,
	"spawn": (*program).spawn,
	"wait":  (*program).wait,
	"kill":  (*program).kill,
}

// control is the open control file.
type control struct {
	g      *program
	answer []byte
}

func (c *control) Write(b []byte) (int, error) {
	var q Request
	var a Response
	if err := json.Unmarshal(b, &q); err != nil {
		return 0, vfs.EINVAL
	}
	f := requests[q.Op]
	if f == nil {
		return 0, vfs.ENOSYS
	}
	if err := f(c.g, &q, &a); err != nil {
		e, ok := vfs.Of(err)
		if !ok {
			e = vfs.EIO
		}
		a.Errno = e
	}
	var err error
	c.answer, err = json.Marshal(&a)
	return len(b), err
}

func (c *control) Read(b []byte) (int, error) {
	n := copy(b, c.answer)
	if c.answer = c.answer[n:]; n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// special opens a file that only programs on machines have; ok is false for the others.
func (g *program) special(name string) (f *file, ok bool, err error) {
	if !strings.HasPrefix(name, "/.pgbox/") {
		return nil, false, nil
	}
	if name == ControlPath {
		return newFile(&control{g: g}, name, rightRead|rightWrite, false), true, nil
	}
	end := g.ends[name]
	if end == nil {
		return nil, true, vfs.ENOENT
	}
	delete(g.ends, name)
	return end, true, nil
}

// pipe makes a pipe and the names of its ends.
func (g *program) pipe(_ *Request, a *Response) error {
	if g.p.Pipe == nil {
		return vfs.ENOSYS
	}
	r, w, err := g.p.Pipe(g.p.Context())
	if err != nil {
		return err
	}
	if g.ends == nil {
		g.ends = map[string]*file{}
	}
	g.named++
	a.Read, a.Write = endPath+strconv.Itoa(g.named)+"r", endPath+strconv.Itoa(g.named)+"w"
	g.ends[a.Read] = newFile(r, a.Read, rightRead, true)
	g.ends[a.Write] = newFile(w, a.Write, rightWrite, true)
	return nil
}

// child is a process that the program has started.
type child struct {
	running *proc.Running
	cancel  context.CancelCauseFunc
	signal  atomic.Int32 // that has ended it
	process *proc.Process
}

var errKilled = errors.New("killed")

// spawn starts a process.
func (g *program) spawn(q *Request, a *Response) error {
	if len(q.Args) == 0 {
		return vfs.EINVAL
	}
	ctx, cancel := context.WithCancelCause(context.WithValue(g.p.Context(), nested{}, true))
	bound, _ := g.p.Budget.NewTurn(ctx) // of the streams: their waits are the child's own
	c := g.p.Child(q.Args...)
	if q.Dir != "" {
		c.Dir = path.Clean(g.p.Abs(q.Dir))
	}
	if q.Env != nil {
		c.Env = proc.Variables(q.Env)
	}
	if err := g.executable(c); err != nil {
		cancel(nil)
		return err
	}
	var files [3]*file
	for i, mark := range q.FDs {
		files[i] = g.marked[mark]
		if mark == 0 || files[i] == nil {
			cancel(nil)
			return vfs.EBADF
		}
	}
	var streams [3]any
	for i, f := range files {
		f.refs.Add(1)
		streams[i] = f.stream
		if b, ok := f.stream.(interface {
			Bind(context.Context) vfs.File
		}); ok {
			streams[i] = b.Bind(bound)
		}
	}
	c.Stdin, _ = streams[0].(io.Reader)
	c.Stdout, _ = streams[1].(io.Writer)
	c.Stderr, _ = streams[2].(io.Writer)
	c.FD = func(n int) (any, bool) {
		if n < 0 || n > 2 {
			return nil, false
		}
		return streams[n], true
	}
	k := &child{cancel: cancel, process: c}
	k.running = g.p.Start(ctx, c, func() {
		for _, f := range files {
			_ = f.release()
		}
		cancel(nil)
	})
	g.lastPID++
	a.PID = g.lastPID
	if g.children == nil {
		g.children = map[int]*child{}
	}
	g.children[a.PID] = k
	return nil
}

// executable reports whether there is a program to run.
func (g *program) executable(c *proc.Process) error {
	if st, err := g.p.FS.Stat(c.Dir); err != nil {
		return err
	} else if !st.IsDir() {
		return vfs.ENOTDIR
	}
	name := c.Args[0]
	candidates := []string{c.Abs(name)}
	if !strings.Contains(name, "/") {
		candidates = nil
		dirs, ok := c.Env.Get("PATH")
		if !ok {
			dirs = "/bin:/usr/bin"
		}
		for _, d := range strings.Split(dirs, ":") {
			candidates = append(candidates, c.Abs(path.Join(d, name)))
		}
	}
	failed := error(vfs.ENOENT)
	for _, name := range candidates {
		st, err := g.p.FS.Stat(name)
		switch {
		case err != nil:
		case st.IsDir() || st.Mode&0o111 == 0:
			failed = vfs.EACCES
		default:
			return nil
		}
	}
	return failed
}

// wait tells how a child ended, or, where it is not to block, that it runs on: PID 0.
func (g *program) wait(q *Request, a *Response) error {
	pids := []int{q.PID}
	if q.PID < 0 {
		pids = pids[:0]
		for pid := range g.children {
			pids = append(pids, pid)
		}
		slices.Sort(pids)
	}
	if len(pids) == 0 {
		return vfs.ECHILD
	}
	for _, pid := range pids {
		k := g.children[pid]
		if k == nil {
			return vfs.ECHILD
		}
		select {
		case <-k.running.Done():
			g.ended(pid, k, a)
			return nil
		default:
		}
	}
	if !q.Block {
		return nil
	}
	k := g.children[pids[0]] // of several, the one that was started first
	k.running.Wait(g.p)
	g.p.Tick(1 << 20)
	g.ended(pids[0], k, a)
	return nil
}

func (g *program) ended(pid int, k *child, a *Response) {
	delete(g.children, pid)
	a.PID, a.Status = pid, k.running.Wait(g.p)<<8
	if s := int(k.signal.Load()); s != 0 {
		a.Status = s
	} else if s := k.process.Signaled; s != 0 {
		a.Status = s
	}
}

// kill sends a child a signal, which ends it; 0 only asks.
func (g *program) kill(q *Request, _ *Response) error {
	k := g.children[q.PID]
	if k == nil {
		if g.p.Signal != nil && g.p.Signal(q.PID, q.Signal) {
			return nil
		}
		return vfs.ESRCH
	}
	if q.Signal == 0 {
		return nil
	}
	select {
	case <-k.running.Done():
		return nil
	default:
	}
	if g.p.Interrupt != nil && g.p.Interrupt(k.process, q.Signal) {
		return nil
	}
	k.signal.Store(int32(q.Signal))
	k.cancel(errKilled)
	return nil
}

// endChildren ends what the program has left behind.
func (g *program) endChildren() {
	for _, k := range g.children {
		k.cancel(errKilled)
	}
	for _, k := range g.children {
		k.running.Wait(g.p)
	}
}

// fdAdvise marks a descriptor.
func (g *program) fdAdvise(in, _ *Frame) error {
	f, err := g.file(in.U32())
	off, mark := in.U64(), in.U64()
	if err != nil || off != markAdvice {
		return err
	}
	if g.marked == nil {
		g.marked = map[uint64]*file{}
	}
	g.marked[mark] = f
	return nil
}
