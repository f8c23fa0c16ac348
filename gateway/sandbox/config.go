package sandbox

import (
	"context"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/cache"
	"github.com/pgbox/pgbox/gateway/lock"
	"github.com/pgbox/pgbox/gateway/sched"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/store"
)

// Config is what a Service is made of. Store is needed; every zero value is its default.
type Config struct {
	Store    *store.Store
	Locker   lock.Locker // default: in process
	Feed     Feed        // what keeps the cached trees current besides the fence; default: nothing
	Commands map[string]proc.Func
	// Machines gives an owner's scripts machines for programs that run in processes of their own; nil: there are none.
	Machines func(ctx context.Context, owner, program string) (proc.Machine, error)

	BlobCacheBytes int64 // default 256 MiB
	TreeCacheBytes int64 // default 512 MiB

	Timeout    time.Duration // of a run that does not say; default 30 s
	MaxTimeout time.Duration // default 5 min
	// LockTimeout bounds how long a commit waits for another transaction that holds the sandbox's row; default 30 s. A
	// script waits no longer than its own timeout allows.
	LockTimeout time.Duration
	// CommitTimeout bounds one commit, its uploads included; default 60 s.
	CommitTimeout time.Duration

	Governor    *sched.Governor // shares the processors among the runs; default: one of its own
	Limits      proc.Limits     // of one run
	OutputKeep  int             // bytes kept of each stream; default 10 MiB
	OutputMax   int64           // bytes of both streams after which a run is ended; default 256 MiB
	MaxFileSize int64           // default 4 GiB
	// bytes of the state of a sandbox's shell (exported variables, functions; all sessions together); default 1 MiB
	MaxState int64
	DirtyMax int64 // written bytes of one run held in memory before they are uploaded; default 64 MiB

	MaxRuns      int           // scripts at once; default 64
	MaxOwnerRuns int           // of one owner; default 16
	MaxQueue     int           // scripts waiting for a place; default 512
	QueueWait    time.Duration // default 30 s
	MaxInFlight  int           // calls of any kind at once, waiting ones included; default 4096

	MaxLiveBytes int64 // declared by all runs together; default 2 GiB
	MaxHeapBytes int64 // of the process; default the Go memory limit less a tenth, when there is one

	StaleRetries int // how often work is done again because somebody else committed first; default 4

	Now func() time.Time // default time.Now
}

// Feed knows how current the cached trees are, and when something is new.
type Feed interface {
	// Fresh reports whether the cached trees have everything that was committed until max ago.
	Fresh(max time.Duration) bool
	// Subscribe returns a channel that holds a token when there may be something new in a sandbox, and how long to wait
	// for it at most before looking without one. cancel must be called.
	Subscribe(sandbox uuid.UUID) (ch <-chan struct{}, look func() time.Duration, cancel func())
}

// noFeed is the Feed of a process that has none: followers look every second.
type noFeed struct{}

func (noFeed) Fresh(time.Duration) bool { return false }
func (noFeed) Subscribe(uuid.UUID) (<-chan struct{}, func() time.Duration, func()) {
	return nil, func() time.Duration { return time.Second }, func() {}
}

func def[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

func (c Config) withDefaults() Config {
	def(&c.BlobCacheBytes, 256<<20)
	def(&c.TreeCacheBytes, 512<<20)
	def(&c.Timeout, 30*time.Second)
	def(&c.MaxTimeout, 5*time.Minute)
	def(&c.LockTimeout, 30*time.Second)
	def(&c.CommitTimeout, time.Minute)
	def(&c.OutputKeep, 10<<20)
	def(&c.OutputMax, 256<<20)
	def(&c.MaxFileSize, 4<<30)
	def(&c.MaxState, 1<<20)
	c.MaxState = min(c.MaxState, 8<<20) // the database takes no more than twice that
	def(&c.DirtyMax, 64<<20)
	def(&c.MaxRuns, 64)
	def(&c.MaxOwnerRuns, 16)
	def(&c.MaxQueue, 512)
	def(&c.QueueWait, 30*time.Second)
	def(&c.MaxInFlight, 4096)
	def(&c.MaxLiveBytes, 2<<30)
	def(&c.StaleRetries, 4)
	if c.MaxHeapBytes == 0 {
		if limit := debug.SetMemoryLimit(-1); limit < 1<<50 {
			c.MaxHeapBytes = limit / 10 * 9
		}
	}
	if c.Governor == nil {
		c.Governor = sched.NewGovernor(runtime.GOMAXPROCS(0))
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Feed == nil {
		c.Feed = noFeed{}
	}
	if c.Locker == nil {
		c.Locker = lock.NewLocal(lock.Config{})
	}
	return c
}

// Service runs scripts and verbs in sandboxes. It is safe for concurrent use.
type Service struct {
	cfg    Config
	store  *store.Store
	blobs  *cache.Blobs
	trees  *cache.Trees
	states *cache.States
	lock   lock.Locker
	gate   *sched.Gate
	dog    *sched.Watchdog
	calls  *calls
	log    *execLog

	freshOnce sync.Once
	fresh     map[string]string
}

// stateCacheBytes is what the cache of shells' states holds.
const stateCacheBytes = 32 << 20

// New returns a Service. Shutdown ends it.
func New(c Config) *Service {
	c = c.withDefaults()
	return &Service{
		cfg: c, store: c.Store, lock: c.Locker,
		blobs:  cache.NewBlobs(c.Store, c.BlobCacheBytes),
		trees:  cache.NewTrees(c.Store, c.TreeCacheBytes),
		states: cache.NewStates(c.Store, stateCacheBytes),
		gate:   sched.NewGate(c.MaxRuns, c.MaxOwnerRuns, c.MaxQueue, c.QueueWait),
		dog:    sched.NewWatchdog(c.MaxLiveBytes, c.MaxHeapBytes, 20*time.Millisecond, endRun),
		calls:  newCalls(c.MaxInFlight),
		log:    newExecLog(c.Store.LogExecs),
	}
}

// endRun ends a run for the sake of the others.
func endRun(r sched.Run, limit string, most int64) {
	r.(*proc.Budget).Kill(&proc.LimitError{Name: limit, Limit: most})
}

// Running is the number of scripts that run.
func (s *Service) Running() int { return s.gate.Active() }

// Trees is the cache of trees, for who feeds it with changes learned otherwise and for metrics.
func (s *Service) Trees() *cache.Trees { return s.trees }

// Blobs is the cache of content.
func (s *Service) Blobs() *cache.Blobs { return s.blobs }
