package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgbox/pgbox/gateway/tree"
	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/sqlcgen"
)

// inlineBytes is how much new content goes along with a commit. More is uploaded before, and only what the database
// lacks.
const inlineBytes = 256 << 10

// commitAttempts bounds how often a commit is sent again after an attempt that certainly applied nothing.
const commitAttempts = 4

// Apply commits a change, all of it or nothing; [OutcomeOf] its error says how it ended. It is ESTALE when the sandbox
// is no longer at c.Version, EDQUOT when a limit would be exceeded, [ErrLocked] when another transaction holds the
// sandbox for as long as c.Wait. When the connection breaks it asks Postgres for the outcome; ErrUnknown means that
// there was no answer until ctx was done.
func (s *Store) Apply(ctx context.Context, c Commit) (Committed, error) {
	p, err := params(&c)
	if err != nil {
		return Committed{}, err
	}
	if p.Blob, err = s.upload(ctx, &c); err != nil {
		return Committed{}, err
	}
	for attempt := 1; ; attempt++ {
		var a Committed
		var sent bool
		err := s.locking(ctx, "apply", s.lockWaitOf(&c), func(wait time.Duration) (err error) {
			a, sent, err = s.apply(ctx, p, wait, c.Answer)
			return err
		})
		switch {
		case err == nil:
			return a, nil
		case sent, attempt > 1 && errors.Is(err, vfs.ESTALE):
			// Stale at a second attempt: the first one may have been what came in between, whatever its error said.
			return s.settle(ctx, &c, err)
		case attempt == commitAttempts, errors.Is(err, errNoPlace):
			return Committed{}, err
		case errors.Is(err, vfs.ENODATA):
			// A content that was there when we asked has been collected since.
			if err := s.uploadMissing(ctx, &c); err != nil {
				return Committed{}, err
			}
		case !errors.Is(err, ErrUnavailable) || ctx.Err() != nil:
			return Committed{}, err
		}
	}
}

// lockWaitOf is how long a commit waits for the sandbox's row.
func (s *Store) lockWaitOf(c *Commit) time.Duration {
	if c.Wait > 0 {
		return min(c.Wait, s.lockWait)
	}
	return s.lockWait
}

// apply sends the commit once. sent reports that its outcome is open.
func (s *Store) apply(ctx context.Context, p *sqlcgen.ApplyParams, wait time.Duration, answer *Answer) (a Committed, sent bool, err error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return a, false, fmt.Errorf("apply: %w: %w", ErrUnavailable, err)
		}
		return a, false, wrap("apply", err)
	}
	var row sqlcgen.ApplyRow
	err = keeping(ctx, conn, wait, nil, answer != nil, func(q *sqlcgen.Queries) (_ *Answer, err error) {
		row, err = q.Apply(ctx, *p)
		return answer, err
	})
	dead := conn.Conn().IsClosed()
	conn.Release()
	if dead {
		s.renew()
	}
	if err == nil {
		a = Committed{Version: row.Version, UsedBytes: row.UsedBytes, UsedInodes: row.UsedInodes, Layers: row.Layers,
			ChangedAt: row.ChangedAt}
		a.State, err = hashOf(row.StateSHA256)
		return a, false, err
	}
	if refused(err) {
		return a, false, wrap("apply", err)
	}
	return a, true, err
}

// settle finds out how a commit ended whose connection broke. fs.settle waits for the lost transaction if it is still
// there, and makes sure that it cannot be applied later if it has not been yet.
func (s *Store) settle(ctx context.Context, c *Commit, cause error) (Committed, error) {
	// The caller's patience may be what ended the commit.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.timeout)
	defer cancel()
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		var rows []int64
		_, err := s.lockOnce(ctx, "settle", func(ctx context.Context, conn *pgxpool.Conn, wait time.Duration) (err error) {
			rows, err = sqlcgen.New(bounded{conn: conn, wait: wait}).Settle(ctx,
				sqlcgen.SettleParams{Sandbox: c.Sandbox, Exec: c.Exec.ID})
			return err
		})
		switch {
		case err == nil && len(rows) == 1:
			return Committed{Version: rows[0], UsedBytes: c.Delta.UsedBytes, UsedInodes: c.Delta.UsedInodes}, nil
		case err == nil:
			return Committed{}, fmt.Errorf("apply: %w: %w", ErrUnavailable, cause)
		case errors.Is(err, vfs.ESRCH):
			return Committed{}, err
		}
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			t.Stop()
			return Committed{}, fmt.Errorf("apply: %w: %w", ErrUnknown, cause)
		case <-t.C:
		}
	}
}

// upload sends contents ahead of the commit and returns those that go along with it.
func (s *Store) upload(ctx context.Context, c *Commit) (inline [][]byte, err error) {
	size := 0
	for _, b := range c.Delta.Blobs {
		size += len(b)
	}
	if size > inlineBytes {
		return nil, s.uploadMissing(ctx, c)
	}
	for _, b := range c.Delta.Blobs {
		inline = append(inline, b)
	}
	return inline, nil
}

// uploadMissing stores those contents of a commit that the database lacks.
func (s *Store) uploadMissing(ctx context.Context, c *Commit) error {
	return uploadMissing(c.Delta.Blobs,
		func(h []tree.Hash) ([]tree.Hash, error) { return s.MissingBlobs(ctx, c.Sandbox, h) },
		func(d [][]byte) error { return s.PutBlobs(ctx, c.Sandbox, d) })
}

func uploadMissing(
	blobs map[tree.Hash][]byte, missing func([]tree.Hash) ([]tree.Hash, error), put func([][]byte) error,
) error {
	hashes := make([]tree.Hash, 0, len(blobs))
	for h := range blobs {
		hashes = append(hashes, h)
	}
	lacking, err := missing(hashes)
	if err != nil {
		return err
	}
	data := make([][]byte, 0, len(lacking))
	for _, h := range lacking {
		data = append(data, blobs[h])
	}
	return put(data)
}

// params are the arguments of fs.apply but for the contents.
func params(c *Commit) (*sqlcgen.ApplyParams, error) {
	d := c.Delta
	audit, err := json.Marshal(c.Exec.row())
	if err != nil {
		return nil, err
	}
	p := &sqlcgen.ApplyParams{
		Sandbox: c.Sandbox, Version: c.Version, NextIno: int64(d.NextIno), UsedBytes: d.UsedBytes, UsedInodes: d.UsedInodes,
		ShellState: c.ShellState, Exec: audit, ChangedAt: c.ChangedAt,
	}
	if n := len(d.Inodes); n > 0 {
		i64, i32 := make([]int64, 4*n), make([]int32, 5*n)
		p.Ino, p.Size, p.Mtime, p.Ctime = i64[:n:n], i64[n:2*n:2*n], i64[2*n:3*n:3*n], i64[3*n:]
		p.Mode, p.UID, p.GID, p.Nlink, p.Rdev = i32[:n:n], i32[n:2*n:2*n], i32[2*n:3*n:3*n], i32[3*n:4*n:4*n], i32[4*n:]
		p.Kind, p.Target = make([]int16, n), make([]string, n)
		for i := range d.Inodes {
			in := &d.Inodes[i]
			p.Ino[i], p.Size[i], p.Mtime[i], p.Ctime[i] = int64(in.Ino), in.Size, in.Mtime, in.Ctime
			p.Mode[i], p.UID[i], p.GID[i], p.Nlink[i], p.Rdev[i] = int32(in.Mode), int32(in.UID), int32(in.GID), int32(in.Nlink),
				int32(in.Rdev)
			p.Kind[i], p.Target[i] = int16(in.Kind), in.Target
		}
	}
	for _, ino := range d.Gone {
		p.Gone = append(p.Gone, int64(ino))
	}
	if n := len(d.Dirents); n > 0 {
		p.Parent, p.Name, p.Child = make([]int64, n), make([]string, n), make([]int64, n)
		for i := range d.Dirents {
			r := &d.Dirents[i]
			p.Parent[i], p.Name[i], p.Child[i] = int64(r.Parent), r.Name, int64(r.Ino)
		}
	}
	if n := len(d.Chunks); n > 0 {
		p.ChunkIno, p.ChunkIdx, p.ChunkSHA256 = make([]int64, n), make([]int32, n), make([][]byte, n)
		for i := range d.Chunks {
			r := &d.Chunks[i]
			p.ChunkIno[i], p.ChunkIdx[i] = int64(r.Ino), int32(r.Idx)
			if !r.Hole {
				p.ChunkSHA256[i] = r.Hash[:]
			}
		}
	}
	if n := len(d.Journal); n > 0 {
		p.Op, p.Path, p.PathTo, p.ChangeIno = make([]string, n), make([]string, n), make([]string, n), make([]int64, n)
		p.SizeBefore, p.SizeAfter, p.HashBefore, p.HashAfter = make([]int64, n), make([]int64, n), make([][]byte, n),
			make([][]byte, n)
		for i := range d.Journal {
			r := &d.Journal[i]
			p.Op[i], p.Path[i], p.PathTo[i], p.ChangeIno[i] = r.Op, r.Path, r.PathTo, int64(r.Ino)
			p.SizeBefore[i], p.HashBefore[i] = held(r.Before)
			p.SizeAfter[i], p.HashAfter[i] = held(r.After)
		}
	}
	return p, nil
}

// held is a digest as fs.apply takes it.
func held(d *tree.Digest) (size int64, hash []byte) {
	switch {
	case d == nil:
		return -1, nil
	case d.Known:
		hash = d.Hash[:]
	}
	return d.Size, hash
}

// execRow is an audit row as fs.apply and fs.log_execs take it.
type execRow struct {
	ID          uuid.UUID  `json:"id"`
	Sandbox     *uuid.UUID `json:"sandbox_id,omitempty"`
	Tenant      string     `json:"tenant,omitempty"`
	Key         string     `json:"idempotency_key,omitempty"`
	Error       string     `json:"error,omitempty"`
	Version     *int64     `json:"version,omitempty"`
	Route       string     `json:"route"`
	Caller      string     `json:"caller"`
	Agent       string     `json:"agent,omitempty"`
	Script      string     `json:"script"`
	Cwd         string     `json:"cwd"`
	ReadOnly    bool       `json:"read_only,omitempty"`
	ExitCode    *int       `json:"exit_code,omitempty"`
	StartedAt   time.Time  `json:"started_at"`
	DurationUS  int64      `json:"duration_us,omitempty"` // zero: what the transaction takes
	StdoutBytes int64      `json:"stdout_bytes"`
	StderrBytes int64      `json:"stderr_bytes"`
	StdoutHead  string     `json:"stdout_head"`
	StderrHead  string     `json:"stderr_head"`
}

func (e *Exec) row() execRow {
	return execRow{
		ID: e.ID, Tenant: e.Tenant, Key: text(e.Key), Error: e.Error,
		Route: text(e.Route), Caller: text(e.Caller), Agent: text(e.Agent), Script: text(e.Script), Cwd: text(e.Cwd),
		ReadOnly: e.ReadOnly, ExitCode: e.ExitCode,
		StartedAt: e.StartedAt.UTC(), DurationUS: e.Duration.Microseconds(), StdoutBytes: e.StdoutBytes,
		StderrBytes: e.StderrBytes,
		StdoutHead:  text(string(e.StdoutHead)), StderrHead: text(string(e.StderrHead)),
	}
}

// json is the row as functions of the database take it; nil for none.
func (e *Exec) json() ([]byte, error) {
	if e == nil {
		return nil, nil
	}
	return json.Marshal(e.row())
}

// text makes s storable: valid UTF-8 without NUL, which Postgres has no text for.
func text(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "\uFFFD")
	}
	return s
}
