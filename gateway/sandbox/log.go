package sandbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/pgbox/pgbox/gateway/store"
)

// Bounds of what waits to be written to the audit log.
const (
	logDelay = time.Second // how long a row waits for others
	logBatch = 256         // rows of one statement
	logRows  = 16384
	logBytes = 32 << 20
	logLast  = 5 * time.Second // what a shutdown gives the last batch
)

// execLog writes the audit rows of runs that committed nothing, in batches and behind their backs: no run waits for it,
// but who reads files or keys by a plain verb does. A row that nobody waits for is lost when Postgres is away for
// longer than the bounds allow, or the process is killed; the first is counted. (The row of what commits is in the
// transaction of the commit.)
type execLog struct {
	write func(context.Context, []store.LoggedExec) error

	mu      sync.Mutex
	pending []logRow
	waiting int // rows of pending that somebody waits for
	bytes   int
	writing bool        // a batch is under way
	failed  bool        // Postgres was away: the next attempt waits, however many rows there are
	timer   *time.Timer // runs when rows wait; nil: none does
	closed  bool
	wg      sync.WaitGroup

	written, dropped atomic.Int64
}

// logRow is a row that waits to be written.
type logRow struct {
	store.LoggedExec
	written chan<- error // nil: nobody waits for it
}

func newExecLog(write func(context.Context, []store.LoggedExec) error) *execLog {
	return &execLog{write: write}
}

func sizeOf(e *store.LoggedExec) int {
	return 256 + len(e.Script) + len(e.Cwd) + len(e.StdoutHead) + len(e.StderrHead) + len(e.Caller) + len(e.Key)
}

// add takes a row; it never blocks.
func (l *execLog) add(e store.LoggedExec) { l.put(logRow{LoggedExec: e}) }

// put takes a row, or reports that there is no room.
func (l *execLog) put(r logRow) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	size := sizeOf(&r.LoggedExec)
	if l.closed || len(l.pending) >= logRows || l.bytes+size > logBytes {
		l.dropped.Add(1)
		return false
	}
	l.pending = append(l.pending, r)
	l.bytes += size
	if r.written != nil {
		l.waiting++
	}
	l.schedule()
	return true
}

// write1 takes a row and returns when it is written, with those of others that came meanwhile.
func (l *execLog) write1(ctx context.Context, e store.LoggedExec) error {
	written := make(chan error, 1)
	if !l.put(logRow{e, written}) {
		return errNoLog
	}
	l.hurry()
	t := time.NewTimer(auditWait)
	defer t.Stop()
	select {
	case err := <-written:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return errNoLog
	}
}

// errNoLog: what is read has to be in the audit log, and that cannot be written.
var errNoLog = fmt.Errorf("the audit log cannot be written: %w", store.ErrUnavailable)

// schedule sees to it that the rows that wait are written, under mu.
func (l *execLog) schedule() {
	switch {
	case l.closed || l.writing || len(l.pending) == 0:
	case len(l.pending) >= logBatch && !l.failed:
		if l.timer != nil && !l.timer.Stop() {
			return // it is about to write
		}
		l.timer = nil
		l.writing = true
		l.wg.Go(l.flush)
	case l.timer == nil:
		l.timer = time.AfterFunc(logDelay, l.tick)
	}
}

func (l *execLog) tick() {
	l.mu.Lock()
	l.timer = nil
	start := !l.closed && !l.writing && len(l.pending) > 0
	if start {
		l.writing = true
		l.wg.Add(1)
	}
	l.mu.Unlock()
	if start {
		defer l.wg.Done()
		l.flush()
	}
}

// flush writes one batch after the other until few rows are left.
func (l *execLog) flush() {
	for {
		ok := l.batch(context.Background())
		l.mu.Lock()
		if !ok || l.closed || len(l.pending) < logBatch && l.waiting == 0 {
			l.writing, l.failed = false, !ok
			l.schedule()
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()
	}
}

// hurry has the rows that wait written now. It reports whether there are none.
func (l *execLog) hurry() (idle bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.pending) == 0 || l.closed {
		return true
	}
	if !l.writing {
		l.writing = true
		l.wg.Go(l.flush)
	}
	return false
}

// batch writes the oldest rows. It reports whether another batch has a chance now.
func (l *execLog) batch(ctx context.Context) bool {
	l.mu.Lock()
	rows := l.pending[:min(logBatch, len(l.pending))]
	l.mu.Unlock()
	execs := make([]store.LoggedExec, len(rows))
	for i := range rows {
		execs[i] = rows[i].LoggedExec
	}
	err := l.write(ctx, execs)
	if errors.Is(err, store.ErrUnavailable) || ctx.Err() != nil {
		return false // they stay
	}
	if err != nil {
		slog.Error("audit rows could not be written", "op", "log_execs", "rows", len(rows), "err", err)
		l.dropped.Add(int64(len(rows)))
	} else {
		l.written.Add(int64(len(rows)))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range rows {
		l.bytes -= sizeOf(&rows[i].LoggedExec)
		if rows[i].written != nil {
			l.waiting--
			rows[i].written <- err
		}
	}
	clear(rows)
	l.pending = l.pending[len(rows):]
	return true
}

// close writes what waits and takes no more.
func (l *execLog) close() {
	l.mu.Lock()
	l.closed = true
	if l.timer != nil {
		l.timer.Stop()
	}
	l.mu.Unlock()
	l.wg.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), logLast)
	defer cancel()
	for len(l.pending) > 0 && l.batch(ctx) {
	}
	if n := len(l.pending); n > 0 {
		slog.Error("audit rows were lost", "op", "log_execs", "rows", n)
		l.dropped.Add(int64(n))
		l.pending = nil
	}
}

var descLog = prometheus.NewDesc("pgbox_exec_log_rows_total",
	"Audit rows of runs that committed nothing, by what became of them.", []string{"result"}, nil)

var descOverdue = prometheus.NewDesc("pgbox_exec_overdue_goroutines",
	"Goroutines that go on a second after their script was ended; more than 0 is a bug.", nil, nil)

// Describe implements [prometheus.Collector].
func (s *Service) Describe(ch chan<- *prometheus.Desc) {
	ch <- descLog
	ch <- descOverdue
}

// Collect implements [prometheus.Collector].
func (s *Service) Collect(ch chan<- prometheus.Metric) {
	ch <- prometheus.MustNewConstMetric(descLog, prometheus.CounterValue, float64(s.log.written.Load()), "written")
	ch <- prometheus.MustNewConstMetric(descLog, prometheus.CounterValue, float64(s.log.dropped.Load()), "dropped")
	ch <- prometheus.MustNewConstMetric(descOverdue, prometheus.GaugeValue, float64(s.dog.Overdue()))
}

// Audited returns when every run that ended before has its row in the audit log, or ctx is done.
func (s *Service) Audited(ctx context.Context) error {
	for {
		if s.log.hurry() {
			return nil
		}
		t := time.NewTimer(10 * time.Millisecond)
		select {
		case <-ctx.Done():
			t.Stop()
			return context.Cause(ctx)
		case <-t.C:
		}
	}
}

// key is the name of the caller's idempotency key.
func (c Caller) key() string {
	if c.Key == nil {
		return ""
	}
	return c.Key.Name
}

// newExecID names a run. Names grow with time, so that the index of the log is filled at its end; random ones leave its
// pages a third empty.
func newExecID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

// rowOf is the audit row of a verb that began at a time and ends now.
func (s *Service) rowOf(c Caller, what string, began time.Time) store.Exec {
	return store.Exec{
		ID: newExecID(), Tenant: c.Tenant, Route: c.Route, Caller: c.Subject, Agent: c.Agent, Key: c.key(), Script: what,
		Cwd: "/", StartedAt: began, Duration: s.elapsed(began),
	}
}

// note puts a verb that began at a time into the audit log, whatever came of it: err is how it failed. version -1 is
// one that was not learned.
func (s *Service) note(c Caller, id uuid.UUID, version int64, what string, began time.Time, err error) {
	e := store.LoggedExec{Exec: s.rowOf(c, what, began), Sandbox: id, Version: version}
	if err != nil {
		e.Error = string(asError(err).Code)
	}
	s.log.add(e)
}

// noteRead puts a read into the audit log before it is answered, and returns how it failed. What may be as old as the
// caller allows asks the database nothing and is not waited for, nor is what failed and so has read nothing.
func (s *Service) noteRead(ctx context.Context, c Caller, id uuid.UUID, what string, began time.Time, err error) error {
	if err != nil || c.MaxStaleness > 0 {
		s.note(c, id, -1, what, began, err)
		return err
	}
	return toError(s.log.write1(ctx, store.LoggedExec{Exec: s.rowOf(c, what, began), Sandbox: id, Version: -1}))
}

// audit is the row of a run.
func (n *run) audit() store.Exec {
	c, exit := n.r.Caller, n.exit
	return store.Exec{
		ID: newExecID(), Tenant: c.Tenant, Route: c.Route, Caller: c.Subject, Agent: c.Agent, Key: c.key(),
		Script: n.r.Script, Cwd: n.dir, ReadOnly: n.r.ReadOnly,
		ExitCode: &exit, StartedAt: n.began, Duration: n.took, StdoutBytes: n.stdout.size(), StderrBytes: n.stderr.size(),
		StdoutHead: n.stdout.first(headBytes), StderrHead: n.stderr.first(headBytes),
	}
}

// logged puts a run that committed nothing into the audit log; one that did not start is none.
func (s *Service) logged(n *run, err error) {
	if n == nil || n.stdout == nil || n.committed {
		return
	}
	row := store.LoggedExec{Exec: n.audit(), Sandbox: n.fence.ID, Version: n.fence.Version}
	if err != nil {
		row.Error = string(asError(err).Code)
	}
	s.log.add(row)
}
