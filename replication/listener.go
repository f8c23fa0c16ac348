package replication

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pglogrepl"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// Op is what happened to a row.
type Op byte

// The operations.
const (
	Inserted Op = iota + 1
	Updated
	Deleted
)

// Change is one changed row. Old is nil for an insert, and for an update that left the replica identity as it was; New
// is nil for a delete. Both are valid until Change returns only.
type Change struct {
	Op       Op
	Relation *Relation
	Old, New Tuple
}

// Handler hears what happens, from one goroutine: Reset, then for each transaction Begin, its changes, and Commit. An
// error of Change means that the change cannot be understood: the rest of the transaction is skipped, and Reset
// follows.
type Handler interface {
	// Reset: everything learned so far is void. reason is for logs and metrics; one of the Reason constants.
	Reset(reason string)
	Begin(b *Begin)
	Change(c *Change) error
	Commit(c *Commit)
}

// Why a Handler is reset.
const (
	ReasonConnected = "connected"
	ReasonLost      = "lost"
	ReasonTruncate  = "truncate"
	ReasonSchema    = "schema"
	ReasonUnknown   = "unknown"
)

// Config says what a Listener follows. URL, Publication, Tables and Handler are needed.
type Config struct {
	URL         string // of the primary, not through a pooler
	Publication string
	Tables      []string // that the publication must have, as schema.table
	Handler     Handler

	// between acknowledgements; default 5 s. A server silent for three of them is taken for dead
	StatusInterval time.Duration
	RetryMin       time.Duration // first pause before another attempt; doubled each time; default 100 ms
	RetryMax       time.Duration // default 10 s
	FindingsRetry  time.Duration // pause after a failed preflight; default 1 min
	BarrierIdle    time.Duration // between barriers when nobody asks for freshness; default 1 s
}

func (c Config) withDefaults() Config {
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	set(&c.StatusInterval, 5*time.Second)
	set(&c.RetryMin, 100*time.Millisecond)
	set(&c.RetryMax, 10*time.Second)
	set(&c.FindingsRetry, time.Minute)
	set(&c.BarrierIdle, time.Second)
	return c
}

// State describes a Listener.
type State struct {
	Live     bool      // a stream is under way
	Since    time.Time // of the stream, or since it was lost
	Slot     string
	System   string // the cluster's identifier
	Timeline int32
	Applied  LSN
	LagBytes int64         // of the server's log not yet applied, as far as known
	Lag      time.Duration // how long the oldest barrier that was not reached has been waiting; 0 when all were
	Streams  int64         // streams begun; all but the first are reconnects
	Commits  int64         // transactions applied
	Changes  int64         // rows applied
	Findings []Finding     // of the last preflight
	Err      error         // why there is no stream
}

// Listener follows a database. Run does the work; all else is safe for concurrent use.
type Listener struct {
	cfg   Config
	pos   position
	fresh freshness
	kick  chan struct{} // asks for a keepalive

	commits, changes atomic.Int64
	server           atomic.Uint64 // LSN
	heard            atomic.Int64  // when something was last received, Unix nanoseconds

	mu    sync.Mutex
	state State
	first chan struct{} // closed after the first attempt
	tried func()
}

// New returns a Listener that does nothing until Run.
func New(c Config) *Listener {
	l := &Listener{cfg: c.withDefaults(), kick: make(chan struct{}, 1), first: make(chan struct{})}
	l.tried = sync.OnceFunc(func() { close(l.first) })
	l.fresh.init()
	l.state.Since = time.Now()
	return l
}

// Applied is the position before which every commit has been handed over, and whether there is a stream.
func (l *Listener) Applied() (LSN, bool) { return l.pos.get() }

// WaitFor returns when everything that was committed before a position has been handed over. It is ErrInterrupted when
// there is no stream, or it ends meanwhile: Reset follows, or has been called.
func (l *Listener) WaitFor(ctx context.Context, want LSN) error {
	return l.pos.wait(ctx, want, l.ask)
}

// ask makes the server say how far it is.
func (l *Listener) ask() {
	select {
	case l.kick <- struct{}{}:
	default:
	}
}

// Tried is closed when the first attempt to stream has succeeded or failed.
func (l *Listener) Tried() <-chan struct{} { return l.first }

// State describes the listener now.
func (l *Listener) State() State {
	l.mu.Lock()
	s := l.state
	l.mu.Unlock()
	s.Applied, s.Live = l.pos.get()
	s.Commits, s.Changes = l.commits.Load(), l.changes.Load()
	if s.Live {
		s.LagBytes = max(0, int64(l.server.Load())-int64(s.Applied))
		s.Lag = l.fresh.lag()
	}
	return s
}

func (l *Listener) set(fn func(s *State)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fn(&l.state)
}

// Run follows the database until ctx is done.
func (l *Listener) Run(ctx context.Context) {
	var fails int
	for {
		began := time.Now()
		delivered, err := l.stream(ctx)
		if ctx.Err() != nil {
			return
		}
		if delivered {
			fails = l.worked(fails, time.Since(began))
		}
		pause := l.pause(fails, err)
		fails++
		l.report(err, pause)
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// worked is how many failures still count after a stream that delivered something: none, but when it lived shortly,
// enough for a pause, or a stream that is cut again and again would be made again and again.
func (l *Listener) worked(fails int, lived time.Duration) int {
	if lived > 10*l.cfg.RetryMin {
		return 0
	}
	return min(fails, 3)
}

// pause is how long to wait after an attempt that failed, the fails-th in a row: half of it by chance, so that many
// processes do not come back at one moment.
func (l *Listener) pause(fails int, err error) time.Duration {
	d := l.cfg.RetryMax
	if fails < 30 {
		d = min(d, l.cfg.RetryMin<<fails)
	}
	if f := (*PreflightError)(nil); errors.As(err, &f) {
		d = l.cfg.FindingsRetry
	}
	return d/2 + rand.N(d/2+1)
}

// report notes why there is no stream, and logs it unless it is what was logged before.
func (l *Listener) report(err error, pause time.Duration) {
	var findings []Finding
	if f := (*PreflightError)(nil); errors.As(err, &f) {
		findings = f.Findings
	}
	var before error
	l.set(func(s *State) {
		before = s.Err
		s.Err, s.Findings = err, findings
	})
	l.tried()
	if before == nil || before.Error() != err.Error() {
		slog.Warn("no replication stream", "op", "listen", "err", err, "retry_in", pause)
	}
}

var errSilent = errors.New("the server is silent")

// stream follows one slot until something ends it. delivered reports whether it got anywhere.
func (l *Listener) stream(ctx context.Context) (delivered bool, err error) {
	octx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	plain, err := connect(octx, l.cfg.URL, false)
	if err != nil {
		return false, fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = plain.Close(octx) }() // the barriers close it too
	findings, err := preflight(octx, plain, l.cfg.Publication, l.cfg.Tables)
	if err != nil {
		return false, fmt.Errorf("preflight: %w", err)
	}
	if len(findings) > 0 {
		return false, &PreflightError{findings}
	}
	conn, err := connect(octx, l.cfg.URL, true)
	if err != nil {
		return false, fmt.Errorf("connect for replication: %w", err)
	}
	s, err := open(octx, conn, l.cfg.Publication)
	if err != nil {
		_ = conn.Close(octx)
		return false, err
	}
	// The connection streams from here on, and is read and written by two goroutines.
	hc, err := conn.Hijack()
	if err != nil {
		_ = conn.Close(octx)
		return false, err
	}
	st := &stream{l: l, conn: hc.Conn, front: hc.Frontend, relations: map[uint32]*Relation{},
		progress: progress{applied: s.start}}
	err = st.run(ctx, s, plain)
	return st.progress.applied > s.start, err
}

// stream is one stream.
type stream struct {
	l     *Listener
	conn  net.Conn
	front *pgproto3.Frontend
	dec   Decoder

	relations map[uint32]*Relation
	progress  progress
	broken    bool          // the rest of the transaction is skipped
	again     time.Duration // before asking again

	mu  sync.Mutex // of what the other goroutine needs
	ack LSN
	err error
}

func (st *stream) run(ctx context.Context, s *slot, plain *pgconn.PgConn) error {
	l := st.l
	st.ack = st.progress.status()
	l.heard.Store(time.Now().UnixNano())
	l.server.Store(uint64(s.start))
	l.set(func(state *State) {
		state.Since, state.Slot, state.System, state.Timeline, state.Err, state.Findings = time.Now(), s.name, s.system,
			s.timeline, nil, nil
		state.Streams++
	})
	l.cfg.Handler.Reset(ReasonConnected)
	l.pos.start(s.start)
	l.tried()
	slog.Info("replication stream begins", "op", "listen", "slot", s.name, "timeline", s.timeline, "at", s.start.String())

	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { st.pace(ctx) })
	wg.Go(func() { l.barriers(ctx, plain) })
	wg.Go(func() {
		<-ctx.Done()
		_ = st.conn.Close() // ends the read below
	})
	err := st.receive()
	// Nobody may believe the position from here on, and then nobody the cache.
	l.pos.stop()
	cancel()
	wg.Wait()
	l.fresh.void()
	l.cfg.Handler.Reset(ReasonLost)
	l.set(func(state *State) { state.Since = time.Now() })
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.err != nil {
		return st.err
	}
	return err
}

// pace sends what the server wants to hear, in time.
func (st *stream) pace(ctx context.Context) {
	l := st.l
	ticker := time.NewTicker(l.cfg.StatusInterval)
	defer ticker.Stop()
	for {
		reply := false
		select {
		case <-ctx.Done():
			return
		case <-l.kick:
			reply = true
		case <-ticker.C:
			silent := time.Since(time.Unix(0, l.heard.Load()))
			if silent > 3*l.cfg.StatusInterval {
				st.fail(errSilent)
				return
			}
			reply = silent > l.cfg.StatusInterval/2
		}
		if err := st.send(reply); err != nil {
			st.fail(err)
			return
		}
	}
}

// fail ends the stream for a reason found beside the reading.
func (st *stream) fail(err error) {
	st.mu.Lock()
	if st.err == nil {
		st.err = err
	}
	st.mu.Unlock()
	_ = st.conn.Close()
}

// send acknowledges what was applied.
func (st *stream) send(reply bool) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	// CopyData: a Standby status update.
	b := make([]byte, 0, 39)
	b = append(b, 'd', 0, 0, 0, 38, 'r')
	for range 3 {
		b = binary.BigEndian.AppendUint64(b, uint64(st.ack))
	}
	b = binary.BigEndian.AppendUint64(b, uint64(time.Since(epoch).Microseconds()))
	if reply {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	_ = st.conn.SetWriteDeadline(time.Now().Add(3 * st.l.cfg.StatusInterval))
	_, err := st.conn.Write(b)
	return err
}

func (st *stream) receive() error {
	for {
		msg, err := st.front.Receive()
		if err != nil {
			return fmt.Errorf("receive: %w", err)
		}
		st.l.heard.Store(time.Now().UnixNano())
		switch m := msg.(type) {
		case *pgproto3.CopyData:
			if err := st.data(m.Data); err != nil {
				return err
			}
		case *pgproto3.ErrorResponse:
			return pgconn.ErrorResponseToPgError(m)
		case *pgproto3.NoticeResponse, *pgproto3.ParameterStatus:
		default:
			return fmt.Errorf("the server ended the stream (%T)", msg)
		}
	}
}

// walHeader is what precedes the payload of WAL data: start, end, time.
const walHeader = 24

func (st *stream) data(b []byte) error {
	if len(b) == 0 {
		return errShort
	}
	switch b[0] {
	case pglogrepl.PrimaryKeepaliveMessageByteID:
		k, err := pglogrepl.ParsePrimaryKeepaliveMessage(b[1:])
		if err != nil {
			return err
		}
		st.moved(st.progress.keepalive(LSN(k.ServerWALEnd)))
		if k.ReplyRequested {
			return st.send(false)
		}
		st.askAgain()
		return nil
	case pglogrepl.XLogDataByteID:
		if len(b) < 1+walHeader {
			return errShort
		}
		st.progress = st.progress.seen(LSN(binary.BigEndian.Uint64(b[9:17])))
		return st.message(b[1+walHeader:])
	}
	return fmt.Errorf("unknown kind of data %q", b[0])
}

// moved makes the progress known.
func (st *stream) moved(p progress) {
	st.progress = p
	st.mu.Lock()
	st.ack = p.status()
	st.mu.Unlock()
	st.l.server.Store(uint64(p.server))
	st.l.pos.advance(p.applied)
}

// askAgain asks for another keepalive when the one that came did not reach as far as somebody waits for: the server had
// not read its log to that point yet.
func (st *stream) askAgain() {
	if st.l.pos.waiting() <= st.progress.applied {
		st.again = 0
		return
	}
	st.again = min(max(2*st.again, time.Millisecond), 50*time.Millisecond)
	time.AfterFunc(st.again, st.l.ask)
}

func (st *stream) message(data []byte) error {
	m, err := st.dec.Decode(data)
	if err != nil {
		return err
	}
	h := st.l.cfg.Handler
	switch m := m.(type) {
	case *Begin:
		st.broken = false
		st.progress = st.progress.begin()
		h.Begin(m)
	case *Commit:
		h.Commit(m)
		st.l.commits.Add(1)
		st.moved(st.progress.commit(m.End))
	case *Relation:
		if old := st.relations[m.ID]; old != nil && !old.equal(m) {
			h.Reset(ReasonSchema)
		}
		st.relations[m.ID] = m
	case *Insert:
		return st.change(m.Relation, Change{Op: Inserted, New: m.New})
	case *Update:
		return st.change(m.Relation, Change{Op: Updated, Old: m.Old, New: m.New})
	case *Delete:
		return st.change(m.Relation, Change{Op: Deleted, Old: m.Old})
	case *Truncate:
		h.Reset(ReasonTruncate)
	}
	return nil
}

func (st *stream) change(relation uint32, c Change) error {
	if c.Relation = st.relations[relation]; c.Relation == nil {
		return fmt.Errorf("a row of relation %d, which was not described", relation)
	}
	for _, t := range []Tuple{c.Old, c.New} {
		if t != nil && len(t) != len(c.Relation.Columns) {
			return fmt.Errorf("a row of %d columns for %s, which has %d", len(t), c.Relation.Name, len(c.Relation.Columns))
		}
	}
	st.l.changes.Add(1)
	if st.broken {
		return nil
	}
	if err := st.l.cfg.Handler.Change(&c); err != nil {
		slog.Warn("a change was not understood", "op", "listen", "relation", c.Relation.Name, "err", err)
		st.broken = true
		st.l.cfg.Handler.Reset(ReasonUnknown)
	}
	return nil
}
