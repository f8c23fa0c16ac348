package machine

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/sys"

	"github.com/pgbox/pgbox/gateway/shell/wasi"
)

// maxCode bounds a module that comes with a job.
const maxCode = 64 << 20

// reports is how often a machine says what it uses.
const reports = 20 * time.Millisecond

// worker is the inside of a machine.
type worker struct {
	rt     wazero.Runtime
	cache  wazero.CompilationCache
	own    wazero.CompiledModule // nil where every job brings its own
	conn   io.ReadWriter
	in     *bufio.Reader
	mu     sync.Mutex // of writes to conn
	calls  int        // since the last collection
	memory atomic.Uint64
	cpu    time.Duration // reported
	busy   atomic.Bool   // with a job
	began  chan struct{} // a job has
}

// work serves jobs from conn, one after the other, until it ends. code is the module of jobs that bring none, compiled
// into cacheDir; confine is called when nothing more of the machine is needed.
func work(ctx context.Context, conn io.ReadWriter, code []byte, cacheDir string, confine func() error) error {
	w := &worker{conn: conn, in: bufio.NewReaderSize(conn, 32<<10), began: make(chan struct{}, 1)}
	defer close(w.began)
	go w.report()
	if len(code) > 0 {
		cache, err := wazero.NewCompilationCacheWithDir(cacheDir)
		if err != nil {
			return err
		}
		w.cache = cache
		w.rt = wazero.NewRuntimeWithConfig(ctx, config(maxMemory).WithCompilationCache(cache))
		if w.own, err = w.rt.CompileModule(ctx, code); err != nil {
			return err
		}
	}
	if err := confine(); err != nil {
		return err
	}
	ready := wasi.NewFrame(nil, wasi.MsgReady)
	if err := ready.Send(conn); err != nil {
		return err
	}
	for {
		job, err := wasi.ReceiveJob(w.in, maxCode)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := w.run(ctx, job); err != nil {
			return err
		}
		runtime.GC()
		w.calls = 0
	}
}

// maxMemory is the most memory of a module, whatever its job says.
const maxMemory = 4 << 30

func config(memory uint64) wazero.RuntimeConfig {
	return wazero.NewRuntimeConfigCompiler().WithDebugInfoEnabled(false).WithMemoryLimitPages(uint32(min(memory,
		maxMemory) >> 16))
}

// run runs one job and says how it ended.
func (w *worker) run(ctx context.Context, job wasi.Job) error {
	s := &system{w: w, args: job.Args, env: job.Env, limit: job.MaxMemory}
	w.busy.Store(true)
	select {
	case w.began <- struct{}{}:
	default: // it is still at the job before
	}
	status, why := s.run(ctx, job)
	w.usage()
	end := wasi.NewFrame(nil, wasi.MsgExit)
	end.PutU32(status)
	end.PutString(why)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy.Store(false)
	return end.Send(w.conn)
}

// report says now and then what the machine uses, while it runs a job. It sleeps in the kernel: a timer of Go's can
// belong to the very processor that computes, and then nobody looks at it.
func (w *worker) report() {
	for range w.began {
		for w.busy.Load() {
			sleep(reports)
			w.usage()
		}
	}
}

// collect is called before each call, and frees memory now and then: see [environment].
func (w *worker) collect() {
	const often = 1 << 16
	if w.calls++; w.calls >= often {
		w.calls = 0
		runtime.GC()
	}
}

func (w *worker) usage() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.busy.Load() {
		return
	}
	cpu := processTime()
	f := wasi.NewFrame(nil, wasi.MsgUsage)
	f.PutU64(uint64(cpu - w.cpu))
	f.PutU64(w.memory.Load())
	w.cpu = cpu
	_ = f.Send(w.conn) // a call finds out
}

// run instantiates the module, which runs it.
func (s *system) run(ctx context.Context, job wasi.Job) (status uint32, why string) {
	rt, module := s.w.rt, s.w.own
	if job.Code != nil {
		rt = wazero.NewRuntimeWithConfig(ctx, config(job.MaxMemory))
		defer func() { _ = rt.Close(ctx) }()
		var err error
		if module, err = rt.CompileModule(ctx, job.Code); err != nil {
			return 126, "cannot execute: " + err.Error()
		}
	}
	host, err := s.module(rt).Instantiate(ctx)
	if err != nil {
		return 126, err.Error()
	}
	defer func() { _ = host.Close(ctx) }()
	ctx = experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(s.allocate))
	cfg := wazero.NewModuleConfig().WithName("").WithSysWalltime().WithSysNanotime().WithRandSource(rand.Reader)
	m, err := rt.InstantiateModule(ctx, module, cfg)
	if m != nil {
		defer func() { _ = m.Close(ctx) }()
	}
	var exit *sys.ExitError
	switch {
	case err == nil:
		return 0, ""
	case errors.As(err, &exit):
		return exit.ExitCode(), ""
	case s.gone != nil:
		fmt.Fprintln(os.Stderr, "machine:", s.gone)
		os.Exit(1)
	}
	return 0, err.Error()
}
