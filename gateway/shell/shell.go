package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/text/arith"
	"github.com/pgbox/pgbox/gateway/shell/text/pattern"
	"github.com/pgbox/pgbox/gateway/shell/text/regex"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// Config is everything one exec gets.
type Config struct {
	FS       vfs.FS
	Commands map[string]proc.Func // external programs by name
	State    State                // from the exec before
	Env      map[string]string    // extra exported variables, for this exec only
	Dir      string               // working directory for this exec only; "" is the state's
	Name     string               // $0; "" is "bash"
	Args     []string             // $1 …
	Stdin    io.Reader            // nil is /dev/null, everything else a pipe
	Stdout   io.Writer            // gets output as the script prints; must not block for ever
	Stderr   io.Writer
	Debug    bool             // set -x
	Session  bool             // options, functions and aliases come from the state and go into it
	Now      func() time.Time // nil is time.Now
	Budget   *proc.Budget     // from proc.NewBudget; nil makes one with the default limits
	User     proc.User        // zero is user 1000 with home /home/user
	Hostname string
	PID      int // $$
	// Machines gives processes their machines; nil where there are none.
	Machines func(ctx context.Context, program string) (proc.Machine, error)
	// Linger is how long the background processes of a script may go on when it has ended; 0 ends them at once.
	Linger time.Duration
}

// State is what persists from one exec to the next.
type State struct {
	Dir string            `json:"cwd,omitempty"`
	Env map[string]string `json:"env,omitempty"` // exported variables; nil is a fresh login environment
	// Session is taken up and replaced by execs with Config.Session only; the others hand it on.
	Session *Session `json:"session,omitempty"`
}

// Result is how a script ended.
type Result struct {
	ExitCode int
	State    State
	// BackgroundEnded is how many background processes were still running when the script had ended, and were ended with
	// it.
	BackgroundEnded int
}

// exec is what all shell environments of one Run share.
type exec struct {
	cfg     Config
	fs      vfs.FS
	budget  *proc.Budget
	ctx     context.Context
	now     func() time.Time
	start   time.Time
	wg      sync.WaitGroup
	running atomic.Int64 // goroutines that wg waits for
	pid     atomic.Int64

	mu    sync.Mutex
	procs map[int]*process // that can be signalled
	fifos map[uint64]*pipe // that are open, by inode
	jobs  map[int]string   // background processes that run, with the texts of their commands
}

// process is one shell environment as kill sees it.
type process struct {
	pid      int
	cancel   context.CancelCauseFunc
	pending  atomic.Uint64 // signals that wait for a trap
	killed   atomic.Int32  // the signal that ended it
	wake     chan struct{} // tells wait and read of a signal
	shell    *Shell
	caught   atomic.Uint64 // signals with a trap (or ignored)
	children atomic.Int64  // that have ended, for the trap on SIGCHLD
	ignored  atomic.Uint64 // signals that are ignored, also by its programs
	parent   int
	own      bool // a program by itself, not a part of its parent's shell
	args     []string
	start    time.Time
	program  atomic.Pointer[proc.Info]          // that it waits for
	stopped  atomic.Int32                       // the signal that did
	stop     atomic.Pointer[context.CancelFunc] // ends that, where the shell itself would go on
}

// Unwinding. These travel as panics and are recovered by the environment they end.
type (
	exitPanic struct{ status int } // this environment ends
	// abortPanic goes back to the loop over lines; errexit: it ends the shell with set -e; soft: commands that compute or
	// compare fail by it.
	abortPanic struct {
		status  int
		errexit bool
		soft    bool
	}
	killPanic struct{ err error } // the exec is over
)

// Shell is one shell environment.
type Shell struct {
	x    *exec
	ctx  context.Context
	turn *proc.Turn // of the goroutine
	proc *process
	sub  int // depth of subshells

	vars      map[string]*variable
	held      int64
	funcs     map[string]*funcDef
	funcsOwn  bool
	aliases   map[string]string
	frames    []*frame
	funcDepth int

	name       string
	args       []string
	shift      int  // of the lines of the text that runs: in $(…) they begin with 1
	traceArray bool // the array that is assigned next is traced
	argsSet    bool // by the builtin set, since a file began to be sourced
	fds        fdTable
	opts       options
	dir        string
	physic     bool
	umask      uint32

	status     int
	substSt    int   // status of the last command substitution of this command, -1 for none
	pipeStatus []int // of the last pipeline of several commands
	piped      bool  // that was the last one
	pipeOne    int   // the last command's otherwise
	line       int
	command    *stmt // BASH_COMMAND
	lastArg    string
	lastBG     int
	depth      int64
	ticks      int64

	loops      int
	breaks     int // loops still to leave
	continues  int // loops to leave, then go on with
	returning  bool
	noErr      int // > 0: set -e and the ERR trap do not apply
	inTrap     int
	trapping   pseudoTraps   // those that run now, and so not again
	beforeTrap int           // the status that the trap found
	debugging  bool          // it is that on DEBUG
	traced     chan struct{} // closed when the first command has been shown
	debugged   bool          // the DEBUG trap has run for the next command

	beforeReturn int // the status that return found

	exiting       bool // the EXIT trap runs
	exitedWith    int  // the status that it found
	traps         map[string]string
	trapsOwn      bool
	unheeded      uint64            // signals that were ignored when the shell started
	inherited     map[string]string // traps of the parent, shown by trap -p in a subshell until one is set
	jobs          []*job
	shownJobs     []*job // of the parent, for jobs in a substitution or pipeline
	nextJob       int
	dirStack      []string
	hashed        map[string]*hashEntry
	optind        optState
	random        random
	seconds       time.Time
	secOffset     int64
	obuf          []byte
	running       string // the builtin whose output is in obuf
	procSubs      []int  // descriptors of process substitutions of the running command
	arithMemo     map[string]*arith.Expr
	nested        int // levels of the expressions under evaluation
	ifs           ifsTable
	ifsChanged    bool
	localeChanged bool
	byteLocale    bool // every byte is a character, see bytes
	xtrace        int  // nesting shown by PS4
	disabled      map[string]bool
	mainShell     bool // a program of its own, not a subshell
	stdinName     string
	byLine        bool // the script is read line by line
	posix         bool
	dash          bool // it is sh: messages and echo are those of Debian's
	misused       bool // the running builtin was called wrongly
	scratch       []byte
	isCmdSub      bool
	execed        bool // the running command keeps its redirections: it is exec without a program
	isAlone       bool // the simple command that it runs is all that its process is for
	signaled      int  // the signal that ended the program it waited for
	rootPID       int
	program       bool // a builtin run as a program
	inHandle      bool // inside command_not_found_handle
	finished      map[int]int
	completions   map[string]*completion
	history       history
	commands      int // read by an interactive shell
	ulimits       map[byte]limitPair
	parsed        map[parseKey]*program
	patterns      map[patternKey]*pattern.Pattern
	regexes       map[regexKey]*regex.Regexp
	readGen       int // counts the changes of aliases and options that decide how texts are read
	readonlyFuncs map[string]bool
}

// frame is one function call, sourced file or temporary environment.
type frame struct {
	fn       *funcDef
	name     string
	source   string
	callLine int
	locals   []saved
	isFunc   bool
	isTemp   bool
	args     []string
	opts     *options
	optind   optState // of getopts when it was called
}

type saved struct {
	name string
	prev *variable // nil: was unset
	temp bool      // of an assignment before the command: unset uncovers what it hides
}

// defaultEnv is what a first exec finds.
func defaultEnv(u proc.User) [][2]string {
	return [][2]string{
		{"HOME", u.Home}, {"USER", u.Name}, {"LOGNAME", u.Name}, {"SHELL", "/bin/bash"},
		{"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
		{"LANG", "C.UTF-8"}, {"TERM", "dumb"},
	}
}

// Run executes script and returns when it and everything it started is over. The error is not nil only when the exec
// was ended from outside or by a limit: it wraps a *proc.LimitError or the context's cause. A script's own
// failures, syntax errors included, are exit codes.
func Run(ctx context.Context, cfg Config, script string) (Result, error) {
	if cfg.Budget == nil {
		ctx, cfg.Budget = proc.NewBudget(ctx, proc.Limits{})
		defer cfg.Budget.Close()
	} else if proc.TurnOf(ctx) == nil {
		var turn *proc.Turn
		ctx, turn = cfg.Budget.NewTurn(ctx)
		defer turn.End()
	}
	if cfg.Name == "" {
		cfg.Name = "bash"
	}
	if cfg.User == (proc.User{}) {
		cfg.User = proc.User{Name: "user", UID: 1000, GID: 1000, Group: "user", Home: "/home/user"}
	}
	if cfg.Hostname == "" {
		cfg.Hostname = "sandbox"
	}
	if cfg.PID == 0 {
		cfg.PID = 100
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Stdout == nil {
		cfg.Stdout = io.Discard
	}
	if cfg.Stderr == nil {
		cfg.Stderr = io.Discard
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	x := &exec{cfg: cfg, fs: cfg.FS, budget: cfg.Budget, ctx: ctx, now: cfg.Now, start: cfg.Now(),
		procs: map[int]*process{}, jobs: map[int]string{}, fifos: map[uint64]*pipe{}}
	x.fs = &procFS{FS: cfg.FS, x: x}
	x.pid.Store(int64(cfg.PID))

	sh := x.newShell(ctx, cfg.Name, cfg.Args, cfg.PID)
	sh.umask = 0o022
	env := cfg.State.Env
	if env == nil {
		for _, kv := range defaultEnv(cfg.User) {
			sh.export(kv[0], kv[1])
		}
	}
	for _, k := range slices.Sorted(maps.Keys(env)) {
		sh.export(k, env[k])
	}
	for _, k := range slices.Sorted(maps.Keys(cfg.Env)) {
		sh.export(k, cfg.Env[k])
	}
	sh.dir = cmpOr(cfg.Dir, cfg.State.Dir, cfg.User.Home)
	if st, err := x.fs.Stat(sh.dir); err != nil || !st.IsDir() {
		sh.dir = "/"
	}
	sh.initVars()
	sh.opts.set('c', true)
	sh.setExecutionString(script)
	if cfg.Debug {
		sh.opts.set('x', true)
	}
	sh.openStd(cfg)
	if cfg.Session {
		sh.opts.set('x', false)
		if err := sh.protect(func() { sh.resume(cfg.State.Session) }); err != nil {
			return Result{ExitCode: 137, State: cfg.State}, err
		}
		if cfg.Debug {
			sh.opts.set('x', true)
		}
	}
	status, err := x.runMain(sh, func() { sh.runScript(script, "-c") })

	state := cfg.State
	if err == nil {
		state = sh.state(cfg)
	}
	sh.fds.closeAll()
	ended := 0
	if err == nil {
		ended = x.linger(ctx)
	}
	cancel()
	x.wg.Wait()
	x.budget.Release(sh.held)
	if err == nil {
		err = x.over()
	}
	return Result{ExitCode: status, State: state, BackgroundEnded: ended}, err
}

// draining is how long the process substitutions of a script that has ended may take for what they still have to read,
// and a moment what background processes get that are about to end anyway.
const (
	draining = 2 * time.Second
	moment   = 50 * time.Millisecond
)

// linger waits for what the script left running: process substitutions, which come to the end of their input now, and
// as long as was asked for background processes. The others are ended with the script, which standard error says; their
// number is returned.
func (x *exec) linger(ctx context.Context) int {
	if x.running.Load() == 0 {
		return 0
	}
	proc.TurnOf(ctx).Pause()
	done := make(chan struct{})
	go func() {
		x.wg.Wait()
		close(done)
	}()
	wait := max(x.cfg.Linger, moment)
	var left []string
	for {
		t := time.NewTimer(wait)
		select {
		case <-done:
		case <-t.C:
		case <-ctx.Done():
		}
		t.Stop()
		if x.running.Load() == 0 || ctx.Err() != nil {
			return 0
		}
		if left = x.background(); len(left) > 0 || wait >= draining {
			break
		}
		wait = draining
	}
	n := len(left)
	if n == 0 { // a substitution that does not end with its input
		return 0
	}
	what := "1 background process was"
	if n > 1 {
		what = itoa(n) + " background processes were"
	}
	_, _ = io.WriteString(x.cfg.Stderr, "bash: "+what+" ended with the script: "+strings.Join(left[:min(n, 5)], ", ")+"\n")
	return n
}

// background lists the background processes that run, by the texts of their commands.
func (x *exec) background() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	var out []string
	for _, pid := range slices.Sorted(maps.Keys(x.jobs)) {
		out = append(out, printable(cutText(x.jobs[pid], 60)))
	}
	return out
}

// startJob notes a background process, and endJob that it is over.
func (x *exec) startJob(pid int, text string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.jobs[pid] = text
}

func (x *exec) endJob(pid int) {
	x.mu.Lock()
	delete(x.jobs, pid)
	x.mu.Unlock()
	x.jobEnded()
}

// cutText is the first n bytes of a text, on one line.
func cutText(s string, n int) string {
	s, _, more := strings.Cut(s, "\n")
	if len(s) > n {
		s, more = strings.ToValidUTF8(s[:n], ""), true
	}
	if more {
		s += "…"
	}
	return s
}

// over says why the exec ended from outside, nil when it did not.
func (x *exec) over() error { return x.budget.Err() }

func cmpOr(vals ...string) string {
	for _, v := range vals {
		if v != "" {
			return v
		}
	}
	return ""
}

// setExecutionString sets the variable that holds what bash -c was given.
func (sh *Shell) setExecutionString(script string) { sh.store("BASH_EXECUTION_STRING", script) }

func (x *exec) newShell(ctx context.Context, name string, args []string, pid int) *Shell {
	sh := &Shell{x: x, name: name, lastArg: name, args: args, vars: make(map[string]*variable, 48),
		funcs: map[string]*funcDef{}, funcsOwn: true,
		traps: map[string]string{}, trapsOwn: true, substSt: -1, piped: true, seconds: x.now(), mainShell: true, umask: 0o022}
	sh.opts = defaultOptions()
	x.adopt(ctx, sh, pid)
	return sh
}

// adopt gives a shell environment its process.
func (x *exec) adopt(ctx context.Context, sh *Shell, pid int) {
	ctx, cancel := context.WithCancelCause(ctx)
	sh.ctx, sh.turn = ctx, proc.TurnOf(ctx)
	parent := sh.proc
	sh.proc = &process{pid: pid, cancel: cancel, wake: make(chan struct{}, 1), shell: sh, own: sh.mainShell,
		args: []string{"bash"}, start: x.now(), parent: 1}
	if parent != nil {
		sh.proc.parent, sh.proc.args = parent.pid, parent.args
	}
	x.mu.Lock()
	x.procs[pid] = sh.proc
	x.mu.Unlock()
}

func (x *exec) disown(p *process) {
	x.mu.Lock()
	if x.procs[p.pid] == p {
		delete(x.procs, p.pid)
	}
	x.mu.Unlock()
	p.cancel(nil)
}

func (x *exec) alive(pid int) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.procs[pid] != nil
}

// processes lists what ps shows. Part of a shell that waits for a program is that program, as after bash's own exec.
func (x *exec) processes() []proc.Info {
	x.mu.Lock()
	defer x.mu.Unlock()
	list := make([]proc.Info, 0, len(x.procs)+1)
	inside := map[int]bool{} // shells shown under the number of the part that runs them
	parents := map[int]int{}
	for _, p := range x.procs {
		info := proc.Info{PID: p.pid, PPID: p.parent, Args: p.args, Start: p.start}
		q := p.program.Load()
		if q != nil && q.PID == p.pid { // it has become the program
			info.Args = q.Args
		} else if q != nil {
			parents[q.PID] = p.pid
			switch {
			case !p.own:
				info.Args = q.Args
				inside[q.PID] = true
			case x.procs[q.PID] == nil:
				list = append(list, *q)
			}
		}
		list = append(list, info)
	}
	list = slices.DeleteFunc(list, func(i proc.Info) bool { return inside[i.PID] })
	for i := range list {
		if parent, ok := parents[list[i].PID]; ok {
			list[i].PPID = parent
		}
	}
	slices.SortFunc(list, func(a, b proc.Info) int { return a.PID - b.PID })
	return list
}

// signalPID is proc.Process.Signal.
func (x *exec) signalPID(pid, sig int) bool {
	x.mu.Lock()
	p := x.procs[pid]
	if p == nil {
		for _, q := range x.procs {
			if r := q.program.Load(); r != nil && r.PID == pid {
				p = q // a program ends with the shell that waits for it
			}
		}
	}
	x.mu.Unlock()
	if p != nil {
		x.signal(p, sig)
	}
	return p != nil
}

// interrupt is proc.Process.Interrupt.
func (x *exec) interrupt(child *proc.Process, sig int) bool {
	x.mu.Lock()
	p := x.procs[child.PID]
	var below []*process
	for _, q := range x.procs {
		if p != nil && q != p && x.isBelow(q, p.pid) {
			below = append(below, q)
		}
	}
	x.mu.Unlock()
	for _, q := range below {
		x.interruptOne(q, sig)
	}
	if p == nil || sig == 9 || sig == 19 {
		return false
	}
	x.interruptOne(p, sig)
	return true
}

// isBelow reports whether a process stems from another one. x.mu is held.
func (x *exec) isBelow(p *process, ancestor int) bool {
	for p != nil && p.parent > ancestor {
		p = x.procs[p.parent]
	}
	return p != nil && p.parent == ancestor
}

// interruptOne sends a signal to a shell and ends the program that it waits for.
func (x *exec) interruptOne(p *process, sig int) {
	x.signal(p, sig)
	if stop := p.stop.Load(); stop != nil && p.ignored.Load()&(1<<uint(sig)) == 0 {
		p.stopped.Store(int32(sig))
		(*stop)()
	}
}

func (x *exec) newPID() int { return int(x.pid.Add(1)) }

func (sh *Shell) openStd(cfg Config) {
	b := sh.x.budget
	var in stream
	switch r := cfg.Stdin.(type) {
	case nil:
		in = nullInput()
	case *strings.Reader:
		if data, err := io.ReadAll(r); err == nil {
			in = &memory{b: data, budget: b, pipe: true}
		}
	}
	if in == nil {
		p := newPipe(b)
		in = &lazyStdin{pipeReader: pipeReader{p}, r: cfg.Stdin}
	}
	sh.fds.put(0, newDesc(b, in))
	sh.fds.put(1, newDesc(b, &sink{w: cfg.Stdout}))
	sh.fds.put(2, newDesc(b, &sink{w: cfg.Stderr}))
}

// lazyStdin starts to read the outside only when the script does.
type lazyStdin struct {
	pipeReader
	r    io.Reader
	once sync.Once
}

func (l *lazyStdin) start() { l.once.Do(func() { go pump(l.r, l.pipe) }) }

func (l *lazyStdin) read(ctx context.Context, b []byte) (int, error) {
	l.start()
	return l.pipeReader.read(ctx, b)
}

func (l *lazyStdin) readUntil(ctx context.Context, delim byte, limit int) ([]byte, error) {
	l.start()
	return l.pipeReader.readUntil(ctx, delim, limit)
}

// state collects what the next exec starts with.
func (sh *Shell) state(cfg Config) State {
	st := State{Dir: sh.dir, Env: map[string]string{}, Session: cfg.State.Session}
	if cfg.Session {
		st.Session = sh.session(st.Session, cfg.Debug)
	}
	if cfg.Dir != "" { // a directory given for one exec leaves the state alone
		st.Dir = cfg.State.Dir
	}
	for name, v := range sh.vars {
		if v.attrs&aExport == 0 || v.attrs&aSet == 0 || v.isArray() || v.dyn != nil || name == "_" || name == "SHLVL" ||
			name == "OLDPWD" || name == "PWD" {
			continue
		}
		if extra, ok := cfg.Env[name]; ok && extra == v.str {
			if old, ok := cfg.State.Env[name]; ok {
				st.Env[name] = old
			}
			continue
		}
		st.Env[name] = v.str
	}
	if v := sh.vars["OLDPWD"]; v != nil && v.attrs&aSet != 0 {
		st.Env["OLDPWD"] = v.str
	}
	return st
}

// runMain runs body as the whole life of sh, EXIT trap included, and returns its status. The error says why the exec
// is over, when it is.
func (x *exec) runMain(sh *Shell, body func()) (status int, err error) {
	err = sh.protect(func() {
		if body(); sh.proc.pending.Load() != 0 { // of signals that came during the last command
			sh.runPending()
		}
	})
	if err == nil {
		if sig := int(sh.proc.killed.Load()); sig != 0 && sig != 9 && sh.ctx.Err() != nil && x.ctx.Err() == nil {
			// Its signal has ended all that it did; the trap runs in what is left of its life.
			ctx, cancel := context.WithCancel(context.WithoutCancel(sh.ctx))
			defer cancel()
			defer context.AfterFunc(x.ctx, cancel)()
			sh.ctx = ctx
		}
		err = sh.protect(sh.exitTrap)
	}
	x.disown(sh.proc)
	if sig := int(sh.proc.killed.Load()); sig != 0 {
		sh.status = 128 + sig
	}
	return sh.status, err
}

// protect runs f and recovers what unwinds a whole environment. A bug in the evaluator ends the
// environment with status 134 and never the process.
func (sh *Shell) protect(f func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case exitPanic:
			if sh.proc.killed.Load() == 0 { // else $? is what it was, for the trap
				sh.status = r.status
			}
		case abortPanic:
			sh.status = r.status
		case killPanic:
			sh.status = 137
			err = r.err
		case proc.Death:
			sh.status = r.Status
			if r.Killed {
				err = cmpErr(r.Cause, sh.x.over(), context.Canceled)
			}
		default:
			slog.Error("shell panicked", "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			sh.eprint("bash: internal error\n")
			sh.status = 134
		}
		sh.breaks, sh.continues, sh.returning = 0, 0, false
	}()
	f()
	return nil
}

func cmpErr(errs ...error) error {
	for _, e := range errs {
		if e != nil {
			return e
		}
	}
	return nil
}

// tick counts one unit of work; it ends the environment when its time is up and runs pending traps.
func (sh *Shell) tick() {
	if sh.ticks++; sh.ticks >= 32 {
		n := sh.ticks
		sh.ticks = 0
		if err := sh.turn.Step(n); err != nil {
			panic(killPanic{err})
		}
		sh.checkAlive()
	}
	if sh.proc.pending.Load() != 0 && sh.inTrap == 0 {
		sh.runPending()
	}
}

// checkAlive ends the environment when it was killed.
func (sh *Shell) checkAlive() {
	if sh.ctx.Err() == nil {
		return
	}
	if err := sh.x.over(); err != nil {
		sh.turn.Last()
		panic(killPanic{err})
	}
	if sig := int(sh.proc.killed.Load()); sig != 0 {
		panic(exitPanic{128 + sig})
	}
	if sh.x.ctx.Err() != nil {
		panic(exitPanic{137})
	}
	panic(exitPanic{143}) // the context of a program around us: timeout
}

func (sh *Shell) hold(n int64) {
	if n > 0 {
		if err := sh.x.budget.Hold(n); err != nil {
			panic(killPanic{err})
		}
	} else {
		sh.x.budget.Release(-n)
	}
	sh.held += n
}

// enter counts one level of nesting; leave takes it back.
func (sh *Shell) enter() {
	if sh.depth++; sh.depth > sh.x.budget.Limits.Depth {
		err := error(&proc.LimitError{Name: "depth", Limit: sh.x.budget.Limits.Depth})
		sh.x.budget.Kill(err)
		panic(killPanic{cmpErr(sh.x.over(), err)})
	}
}

func (sh *Shell) leave() { sh.depth-- }

// fork makes a copy of the environment: variables are shared until one side changes them.
func (sh *Shell) fork(ctx context.Context, pid int) *Shell {
	sh.enter()
	sh.leave()
	if err := sh.turn.Step(int64(64 + len(sh.vars)/8)); err != nil {
		panic(killPanic{err})
	}
	c := *sh
	c.vars = make(map[string]*variable, len(sh.vars)+8)
	for n, v := range sh.vars {
		if !v.shared {
			v.shared = true
		}
		c.vars[n] = v
	}
	c.held, c.ticks = 0, 0
	sh.funcsOwn, c.funcsOwn = false, false
	sh.trapsOwn, c.trapsOwn = false, false
	c.depth++
	c.sub++
	c.frames = make([]*frame, len(sh.frames))
	for i, f := range sh.frames {
		g := *f
		g.locals = slices.Clip(f.locals)
		c.frames[i] = &g
	}
	c.fds = sh.fds.clone()
	c.pipeStatus = slices.Clone(sh.pipeStatus)
	c.dirStack = slices.Clip(sh.dirStack)
	c.obuf, c.scratch, c.procSubs, c.arithMemo = nil, nil, nil, nil
	c.parsed, c.patterns, c.regexes, c.finished = nil, nil, nil, nil
	c.jobs, c.shownJobs = nil, nil
	c.hashed = maps.Clone(sh.hashed)
	c.aliases = maps.Clone(sh.aliases)
	c.disabled = maps.Clone(sh.disabled)
	c.random = random{}
	c.mainShell, c.isAlone = false, false
	c.traced = nil
	c.loops, c.breaks, c.continues, c.returning = 0, 0, 0, false
	// Traps are reset in a subshell, except for ignored signals.
	if len(sh.traps) > 0 {
		c.inherited = sh.traps
		c.traps = map[string]string{}
		c.trapsOwn = true
		for k, v := range sh.traps {
			if v == "" || k == "ERR" && sh.opts.get('E') || (k == "DEBUG" || k == "RETURN") && sh.opts.get('T') {
				c.traps[k] = v
			}
		}
	}
	sh.x.adopt(ctx, &c, pid)
	c.syncCaught()
	return &c
}

// finish lets go of what a forked environment holds.
func (sh *Shell) finish() {
	sh.fds.closeAll()
	sh.x.budget.Release(sh.held)
	sh.held = 0
	sh.x.disown(sh.proc)
	if sh.sub > 0 {
		sh.x.childEnded(sh.proc.parent)
	}
}

// childEnded tells a shell with a trap on SIGCHLD that a process of its own has ended.
func (x *exec) childEnded(parent int) {
	x.mu.Lock()
	p := x.procs[parent]
	x.mu.Unlock()
	if p != nil && p.caught.Load()&(1<<sigCHLD) != 0 {
		p.children.Add(1)
		x.signal(p, sigCHLD)
	}
}

// child runs body in the forked environment c, on this goroutine, and returns its status.
func (c *Shell) child(body func()) int {
	status, err := c.x.runMain(c, body)
	c.finish()
	if err != nil {
		panic(killPanic{err})
	}
	return status
}

// spawn runs body in the forked environment c on a goroutine of its own.
func (c *Shell) spawn(body func(), done func(status int)) {
	if err := c.x.budget.Spawn(); err != nil {
		c.finish()
		done(137)
		panic(killPanic{err})
	}
	c.x.wg.Add(1)
	c.x.running.Add(1)
	go func() {
		defer c.x.wg.Done()
		defer c.x.running.Add(-1)
		defer c.x.budget.Exited()
		c.ctx, c.turn = c.x.budget.NewTurn(c.ctx)
		defer c.turn.End()
		status, _ := c.x.runMain(c, func() {
			if err := c.turn.Pass(); err != nil {
				panic(killPanic{err})
			}
			body()
		})
		c.finish()
		done(status)
	}()
}

// eprint writes to descriptor 2 of the shell.
func (sh *Shell) eprint(s string) {
	if d := sh.fds.get(2); d != nil {
		_, _ = d.write(sh.ctx, []byte(s))
	}
}

// prefix is what bash begins its messages with.
func (sh *Shell) prefix() string {
	name := sh.name
	if sh.program { // the message begins with its name
		return ""
	}
	if sh.dash {
		return name + ": " + itoa(sh.line) + ": "
	}
	if sh.interactive() {
		return name + ": "
	}
	for i := len(sh.frames) - 1; i >= 0; i-- {
		if f := sh.frames[i]; !f.isTemp {
			if f.source != "" {
				name = f.source
			}
			break
		}
	}
	return name + ": line " + itoa(sh.line) + ": "
}

// either is a message of bash, or of sh.
func (sh *Shell) either(bash, dash string) string {
	if sh.dash {
		return dash
	}
	return bash
}

// misuse is what an error of a special builtin means in sh: its end. Elsewhere it is the builtin's status.
func (sh *Shell) misuse(status int) int {
	if sh.dash {
		panic(exitPanic{2})
	}
	return status
}

// errorf prints a message of the shell on stderr.
func (sh *Shell) errorf(format string, args ...any) {
	sh.flushLines()
	sh.eprint(sh.prefix() + fmt.Sprintf(format, args...) + "\n")
}

// discard prints a message and abandons the line that is being run, also with set -e: arithmetic that fails is no
// failed command.
func (sh *Shell) discard(format string, args ...any) {
	sh.errorf(format, args...)
	panic(abortPanic{status: 1})
}

// fatal prints a message and abandons the line that is being run, as bash does for bad expansions; with set -e it ends
// the shell.
func (sh *Shell) fatal(format string, args ...any) {
	sh.errorf(format, args...)
	panic(abortPanic{status: 1, errexit: true})
}

func asArithError(err error) string {
	var e *arith.Error
	if errors.As(err, &e) {
		return e.Error()
	}
	return err.Error()
}
