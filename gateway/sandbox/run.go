package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pgbox/pgbox/gateway/cache"
	"github.com/pgbox/pgbox/gateway/lock"
	"github.com/pgbox/pgbox/gateway/shell"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/store"
	"github.com/pgbox/pgbox/gateway/tree"
	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/gateway/wire"
)

// user is who runs scripts in every sandbox.
var user = proc.User{Name: "user", UID: userID, GID: userID, Group: "user", Home: "/home/user"}

// headBytes is how much of the output the audit log keeps.
const headBytes = 2048

// Exec runs a script. Writers wait for the sandbox's lock. The result is not nil beside an error when
// the script had started: it holds the output so far.
func (s *Service) Exec(ctx context.Context, r Request) (*Result, error) {
	return call(ctx, s, func(ctx context.Context) (*Result, error) {
		res, repeat, err := once(ctx, s, r.Caller, func() (*Result, bool, error) {
			began := s.cfg.Now()
			res, err := s.exec(ctx, &r)
			if res == nil && err != nil {
				s.refused(&r, began, err)
			}
			return res, res != nil && res.Committed, err
		})
		if repeat && err == nil {
			err = res.print(&r)
		}
		return res, err
	})
}

// refused puts a script that did not begin into the audit log.
func (s *Service) refused(r *Request, began time.Time, err error) {
	row := s.rowOf(r.Caller, r.Script[:min(len(r.Script), refusedScript)], began)
	row.ReadOnly, row.Error = r.ReadOnly, string(asError(err).Code)
	if r.Cwd != "" {
		row.Cwd = r.Cwd
	}
	s.log.add(store.LoggedExec{Exec: row, Sandbox: r.Sandbox, Version: -1})
}

// refusedScript is how much the audit log keeps of a script that did not begin: it may have been refused for its
// length.
const refusedScript = 64 << 10

// print gives output that was kept to those who would have got it as it came.
func (res *Result) print(r *Request) error {
	if r.Stdout != nil && len(res.Stdout) > 0 {
		if _, err := r.Stdout.Write(res.Stdout); err != nil {
			return errClientGone{err}
		}
	}
	if r.Stderr != nil && len(res.Stderr) > 0 {
		if _, err := r.Stderr.Write(res.Stderr); err != nil {
			return errClientGone{err}
		}
	}
	return nil
}

func (s *Service) exec(ctx context.Context, r *Request) (*Result, error) {
	if err := s.normalize(r); err != nil {
		return nil, err
	}
	if r.Caller.At != "" && !r.ReadOnly {
		return nil, newError(wire.CodeInvalidInput, nil, "at: an earlier state can only be read, with readOnly")
	}
	if r.ReadOnly {
		return s.readLatest(ctx, r)
	}
	lease, err := s.acquire(ctx, r.Caller, r.Sandbox)
	if err != nil {
		return nil, err
	}
	defer lease.Unlock()
	return s.write(ctx, lease, r)
}

// readLatest runs a script on a snapshot. When what the snapshot needs was collected in between, there is a newer one.
func (s *Service) readLatest(ctx context.Context, r *Request) (*Result, error) {
	for attempt := 0; ; attempt++ {
		pin, err := s.pinRead(ctx, r.Caller, r.Sandbox)
		if err != nil {
			return nil, err
		}
		res, err := s.read(ctx, r, &pin)
		pin.Release()
		if res != nil || !errors.Is(err, vfs.ESTALE) || attempt >= s.cfg.StaleRetries {
			return res, err
		}
		r.Caller.MaxStaleness = 0
	}
}

// normalize checks a request and fills in its defaults.
func (s *Service) normalize(r *Request) error {
	if r.Timeout <= 0 {
		r.Timeout = s.cfg.Timeout
	}
	r.Timeout = min(r.Timeout, s.cfg.MaxTimeout)
	if limit := s.cfg.Limits.ScriptSize; limit > 0 && int64(len(r.Script)) > limit {
		return newError(wire.CodePayloadTooLarge, nil, fmt.Sprintf("a script has at most %d bytes", limit))
	}
	if r.Cwd != "" && (r.Cwd[0] != '/' || strings.IndexByte(r.Cwd, 0) >= 0) {
		return newError(wire.CodeInvalidInput, nil, "cwd: must be an absolute path")
	}
	if err := r.Session.check(); err != nil {
		return err
	}
	return checkEnv(r.Env)
}

// checkEnv tells everything that cannot be an environment variable.
func checkEnv(env map[string]string) error {
	var bad []string
	for _, k := range slices.Sorted(maps.Keys(env)) {
		if k == "" || strings.ContainsAny(k, "=\x00") || strings.IndexByte(env[k], 0) >= 0 {
			bad = append(bad, fmt.Sprintf("env: %q cannot be an environment variable", k))
		}
	}
	if bad == nil {
		return nil
	}
	e := newError(wire.CodeInvalidInput, nil, "validation_error")
	e.Details = bad
	return e
}

// read runs a script on a snapshot.
func (s *Service) read(ctx context.Context, r *Request, pin *cache.Pin) (*Result, error) {
	if err := s.gate.Enter(ctx, ownerKey(r.Caller)); err != nil {
		return nil, err
	}
	defer s.gate.Leave(ownerKey(r.Caller))
	n := &run{s: s, r: r, fence: pin.Fence}
	options := s.options(pin.Fence, true)
	options.Failed = n.failed
	guard := &guardFS{Work: pin.Tree.Begin(ctx, options)}
	err := n.run(ctx, guard, nil, r.Stdin)
	if guard.violated() {
		err = newError(wire.CodeReadOnlyViolation, nil, "the script tried to change a file")
	}
	s.logged(n, err)
	return n.result(), err
}

// write runs a script under the lock and commits what it changed.
func (s *Service) write(ctx context.Context, lease lock.Lease, r *Request) (*Result, error) {
	if err := s.gate.Enter(ctx, ownerKey(r.Caller)); err != nil {
		return nil, err
	}
	defer s.gate.Leave(ownerKey(r.Caller))
	var in *replay
	if r.Stdin != nil {
		in = &replay{src: r.Stdin}
	}
	for attempt := 0; ; attempt++ {
		n, err := s.tryWrite(ctx, lease, r, in)
		if n == nil {
			return nil, err
		}
		if store.OutcomeOf(err) == store.Stale && attempt < s.cfg.StaleRetries && n.repeatable(in) {
			continue
		}
		s.logged(n, err)
		return n.result(), err
	}
}

// repeatable reports whether nobody can tell that the script ran before.
func (n *run) repeatable(in *replay) bool {
	if n.stdout == nil {
		return true // it has not begun
	}
	if n.stdout.streamed() || n.stderr.streamed() {
		return false
	}
	if in == nil {
		return true
	}
	_, ok := in.reader()
	return ok
}

func (s *Service) tryWrite(ctx context.Context, lease lock.Lease, r *Request, in *replay) (*run, error) {
	pin, err := s.pin(ctx, r.Caller, r.Sandbox)
	if err != nil {
		return nil, err
	}
	defer pin.Release()
	n := &run{s: s, r: r, fence: pin.Fence, version: pin.Fence.Version}
	options := s.options(pin.Fence, false)
	options.Wrote, options.Failed = n.wrote, n.failed
	w := pin.Tree.Begin(ctx, options)
	var stdin io.Reader
	if in != nil {
		stdin, _ = in.reader()
	}
	if err := n.run(ctx, w, lease, stdin); err != nil {
		return n, err
	}
	if r.Atomic && n.exit != 0 {
		return n, nil
	}
	d := w.Delta()
	state, err := n.newState(d.UsedBytes)
	if err != nil || d.Empty() && state == nil {
		return n, err
	}
	if err := stillOurs(ctx, lease); err != nil {
		return n, err
	}
	var answer *store.Answer
	if k := r.Caller.Key; k != nil {
		res := n.result()
		res.Version, res.Committed = pin.Fence.Version+1, true
		if answer, err = k.answer(r.Caller, res); err != nil {
			return n, err
		}
	}
	next, err := s.commit(ctx, pin.Fence, w, store.Commit{Delta: d, ShellState: state, Exec: n.audit(), Answer: answer,
		Wait: n.lockWait()})
	if err != nil {
		return n, err
	}
	n.version, n.committed = next.Version, true
	return n, nil
}

// lastWait is how long a commit waits for a lock when the script has used up its time.
const lastWait = 100 * time.Millisecond

// lockWait is how long the commit waits for another transaction: for what is left of the script's time.
func (n *run) lockWait() time.Duration {
	return min(max(n.r.Timeout-n.s.elapsed(n.began), lastWait), n.s.cfg.LockTimeout)
}

func ownerKey(c Caller) string { return c.Tenant + "\x00" + c.Subject }

// run is one execution of a script.
type run struct {
	s     *Service
	r     *Request
	fence *store.Fence

	began          time.Time
	took           time.Duration
	dir            string // where it began
	shells         shells
	before, after  shell.State     // of the run's session
	known          *session        // the run's named session, as it was
	stored         json.RawMessage // what shells was read from
	stdout, stderr *output
	exit           int
	left           int // background processes that were ended with the script
	timedOut       bool
	version        int64
	committed      bool
	budget         *proc.Budget // while the script runs
}

// wrote counts what the script writes into files.
func (n *run) wrote(bytes int) error {
	if n.budget == nil {
		return nil
	}
	return n.budget.Write(int64(bytes))
}

// failed ends a script that met a file whose contents cannot be had for now: to go on without them would be to answer,
// and to commit, what the tree does not say.
func (n *run) failed(err error) {
	if n.budget != nil {
		n.budget.Kill(err)
	}
}

// run executes the script over fs. The error says what ended it from outside.
func (n *run) run(ctx context.Context, fs vfs.FS, lease lock.Lease, stdin io.Reader) (err error) {
	s, r := n.s, n.r
	if err := n.prepare(ctx, fs); err != nil {
		return err
	}
	ctx, budget := proc.NewShared(ctx, s.cfg.Limits, s.cfg.Governor, ownerKey(r.Caller))
	defer budget.Close()
	s.dog.Watch(budget, n.fence.ID.String())
	defer s.dog.Forget(budget)
	defer time.AfterFunc(r.Timeout, func() { budget.Kill(errTimeout{r.Timeout}) }).Stop()
	if lease != nil && lease.Done() != nil {
		over := make(chan struct{})
		var wg sync.WaitGroup
		defer wg.Wait()
		defer close(over)
		wg.Go(func() {
			select {
			case <-lease.Done():
				budget.Kill(lock.ErrLost)
			case <-over:
			}
		})
	}
	meter := &outputMeter{hard: s.cfg.OutputMax, budget: budget}
	n.budget = budget
	n.stdout = &output{meter: meter, keep: s.cfg.OutputKeep, sink: r.Stdout}
	n.stderr = &output{meter: meter, keep: s.cfg.OutputKeep, sink: r.Stderr}
	n.began = s.cfg.Now()
	defer func() {
		n.took = s.elapsed(n.began)
		if p := recover(); p != nil {
			slog.Error("exec panicked", "sandbox", n.fence.ID, "op", "exec", "err", fmt.Sprint(p), "stack",
				string(debug.Stack()))
			err = newError(wire.CodeInternal, nil, "internal error")
		}
	}()
	if sr, ok := stdin.(*replayReader); ok {
		stdin = sr.inMemory()
	}
	state := n.before
	state.Dir = n.dir // the one before may be gone
	res, err := shell.Run(ctx, shell.Config{
		FS: fs, Commands: s.cfg.Commands, State: state, Env: n.env(), Dir: r.Cwd, Stdin: stdin,
		Stdout: n.stdout, Stderr: n.stderr, Debug: r.Debug, Session: r.Session.Full, Now: s.cfg.Now, Budget: budget,
		User: user, Hostname: hostname(n.fence),
		Linger: r.Linger, Machines: s.machines(ownerKey(r.Caller)),
	}, r.Script)
	n.exit, n.after, n.left = res.ExitCode, res.State, res.BackgroundEnded
	if err != nil {
		var t errTimeout
		n.timedOut = errors.As(err, &t)
		n.exit = 137
		if n.timedOut {
			n.exit = 124
		}
	}
	return err
}

// inMemory returns the input as a strings.Reader when it is one below: the shell needs no goroutine to read it.
func (p *replayReader) inMemory() io.Reader {
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	switch src := p.r.src.(type) {
	case *strings.Reader:
		if p.pos == 0 && p.r.seen == nil && !p.r.lost {
			all, err := io.ReadAll(src)
			if err == nil {
				p.r.src = text(all)
				return strings.NewReader(string(all))
			}
		}
	case text:
		return strings.NewReader(string(src))
	}
	return p
}

// text is an input that is wholly in memory; it is never read itself.
type text string

func (text) Read([]byte) (int, error) { return 0, io.EOF }

// machines is where the scripts of an owner get their machines, nil when there are none.
func (s *Service) machines(owner string) func(ctx context.Context, program string) (proc.Machine, error) {
	if s.cfg.Machines == nil {
		return nil
	}
	return func(ctx context.Context, program string) (proc.Machine, error) {
		return s.cfg.Machines(ctx, owner, program)
	}
}

// hostname is what the sandbox calls itself.
func hostname(f *store.Fence) string { return f.ID.String()[:8] }

// prepare reads the state of the shell and finds the working directory.
func (n *run) prepare(ctx context.Context, fs vfs.FS) error {
	state, err := n.s.states.Get(ctx, n.fence.ID, n.fence.State)
	if err != nil {
		return err
	}
	n.stored, n.shells = state, readShells(state)
	now := n.s.cfg.Now()
	n.before, n.known = n.shells.state(n.r.Session, now)
	if n.r.Session.Name != "" && n.known == nil && !n.r.ReadOnly && len(n.shells.sessions(now)) >= MaxSessions {
		return newError(wire.CodeEDQUOT, nil, fmt.Sprintf("a sandbox has at most %d sessions: remove one that is not used",
			MaxSessions))
	}
	if n.r.Cwd != "" {
		st, err := fs.Stat(n.r.Cwd)
		if err != nil {
			return err
		}
		if !st.IsDir() {
			return vfs.Path("chdir", n.r.Cwd, vfs.ENOTDIR)
		}
		n.dir = n.r.Cwd
		return nil
	}
	for _, dir := range []string{n.before.Dir, user.Home} {
		if dir == "" {
			continue
		}
		if st, err := fs.Stat(dir); err == nil && st.IsDir() {
			n.dir = dir
			return nil
		}
	}
	n.dir = "/"
	return nil
}

// env is what the sandbox's default environment and the request add to the variables of the state. A variable that a
// script has set and exported since goes before the default.
func (n *run) env() map[string]string {
	var defaults map[string]string
	if len(n.fence.Env) > 2 {
		_ = json.Unmarshal(n.fence.Env, &defaults)
		for k := range n.before.Env {
			delete(defaults, k)
		}
	}
	if len(defaults) == 0 {
		return n.r.Env
	}
	maps.Copy(defaults, n.r.Env)
	return defaults
}

// newState is the state of the shells to be stored, nil when it is what it was. A working directory given with the
// request is not remembered. used is what the sandbox holds without it. A state that there is no room for is left as it
// was, but for the working directory, and the script's stderr says so: its files are not lost for that.
func (n *run) newState(used int64) (json.RawMessage, error) {
	before, after, of, now := n.before, n.after, n.r.Session, n.s.cfg.Now()
	if n.r.Cwd != "" {
		after.Dir = before.Dir
		keep(after.Env, before.Env, "OLDPWD")
	}
	if before.Env == nil {
		before.Env = n.s.freshEnv()
	}
	if before.Dir == "" {
		before.Dir = user.Home
	}
	if after.Dir == "" {
		after.Dir = user.Home
	}
	lives := of.Name == "" || n.known != nil && now.Sub(n.known.UsedAt) < sessionTouch
	if lives && before.Dir == after.Dir && maps.Equal(before.Env, after.Env) &&
		reflect.DeepEqual(before.Session, after.Session) {
		return nil, nil
	}
	stored := storedSize(n.stored)
	room := n.stateRoom(used, stored)
	limit := min(room, n.s.cfg.MaxState)
	size := int64(0)
	for k, v := range after.Env {
		size += int64(len(k) + len(v) + 8)
	}
	// One that is over the limit already may shrink.
	if size <= limit || size < stored {
		state, err := n.shells.with(of, after, now)
		if err != nil {
			return nil, err
		}
		if size = storedSize(state); size <= limit || size < stored {
			return state, nil
		}
	}
	_, err := fmt.Fprintf(n.stderr, "pgbox: exported variables and functions are not kept: %d bytes, at most %d\n", size,
		limit)
	if err != nil || before.Dir == after.Dir {
		return nil, err
	}
	after.Env, after.Session = before.Env, before.Session
	state, err := n.shells.with(of, after, now)
	if err != nil {
		return nil, err
	}
	// A directory is little, but a sandbox has many sessions.
	if size = storedSize(state); size <= limit || of.Name == "" && size <= room {
		return state, nil
	}
	_, err = fmt.Fprintln(n.stderr, "pgbox: nor is the working directory")
	return nil, err
}

// stateRoom is how large the state may be for the sandbox's quota; stored is how large it is.
func (n *run) stateRoom(used, stored int64) int64 {
	m := n.fence.MaxBytes
	if m == nil {
		return math.MaxInt64
	}
	room := max(*m-used, 0)
	if stored > freeState {
		room += stored
	}
	return max(room, freeState)
}

// freeState is how large a state may be without counting in the sandbox's usage (pgbox.state_charge).
const freeState = 4096

// keep sets name in to as it is in from.
func keep(to, from map[string]string, name string) {
	if v, ok := from[name]; ok {
		to[name] = v
	} else {
		delete(to, name)
	}
}

// freshEnv is the environment of the first run in a sandbox.
func (s *Service) freshEnv() map[string]string {
	s.freshOnce.Do(func() {
		res, err := shell.Run(context.Background(), shell.Config{FS: tree.Empty().Begin(context.Background(),
			tree.Options{ReadOnly: true}), User: user}, "")
		if err == nil {
			s.fresh = res.State.Env
		}
	})
	return s.fresh
}

func (n *run) result() *Result {
	if n.stdout == nil {
		return nil
	}
	res := &Result{ExitCode: n.exit, TimedOut: n.timedOut, Duration: n.took,
		Version: n.version, Committed: n.committed, BackgroundEnded: n.left}
	if n.version == 0 {
		res.Version = n.fence.Version
	}
	var cutOut, cutErr bool
	res.Stdout, cutOut = n.stdout.bytes()
	res.Stderr, cutErr = n.stderr.bytes()
	res.Truncated = cutOut || cutErr
	return res
}

// guardFS notices attempts to change a read-only tree.
type guardFS struct {
	*tree.Work
	mu  sync.Mutex
	hit bool
}

func (g *guardFS) violated() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.hit
}

func (g *guardFS) note(err error) error {
	if err != nil && errors.Is(err, vfs.EROFS) {
		g.mu.Lock()
		g.hit = true
		g.mu.Unlock()
	}
	return err
}

func (g *guardFS) Open(path string, flag int, perm uint32) (vfs.File, error) {
	f, err := g.Work.Open(path, flag, perm)
	return f, g.note(err)
}
func (g *guardFS) Mkdir(path string, perm uint32) error { return g.note(g.Work.Mkdir(path, perm)) }
func (g *guardFS) Rmdir(path string) error              { return g.note(g.Work.Rmdir(path)) }
func (g *guardFS) Unlink(path string) error             { return g.note(g.Work.Unlink(path)) }
func (g *guardFS) Rename(from, to string) error         { return g.note(g.Work.Rename(from, to)) }
func (g *guardFS) Link(from, to string) error           { return g.note(g.Work.Link(from, to)) }
func (g *guardFS) Symlink(target, path string) error    { return g.note(g.Work.Symlink(target, path)) }
func (g *guardFS) Mknod(path string, kind vfs.Kind, perm, rdev uint32) error {
	return g.note(g.Work.Mknod(path, kind, perm, rdev))
}
func (g *guardFS) Chmod(path string, mode uint32) error { return g.note(g.Work.Chmod(path, mode)) }
func (g *guardFS) Chown(path string, uid, gid int, follow bool) error {
	return g.note(g.Work.Chown(path, uid, gid, follow))
}
func (g *guardFS) Utimes(path string, mtime int64, follow bool) error {
	return g.note(g.Work.Utimes(path, mtime, follow))
}
func (g *guardFS) Truncate(path string, size int64) error {
	return g.note(g.Work.Truncate(path, size))
}
func (g *guardFS) RemoveAll(path string) error { return g.note(g.Work.RemoveAll(path)) }

// first returns up to n bytes from the start of what was written.
func (o *output) first(n int) []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	return bytes.Clone(o.head[:min(n, len(o.head))])
}
