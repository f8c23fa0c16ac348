package engine

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"runtime"
	"runtime/debug"
	"time"

	wasm "github.com/ncruces/go-sqlite3-wasm"
)

// Host is the process that SQLite works for. Its methods are called on the goroutine that uses the connection and may
// panic, which leaves the connection broken.
type Host interface {
	// Step is called for each thousand steps of SQLite's machine.
	Step()
	// Grow counts n more bytes of memory, fewer when n is negative; false refuses them.
	Grow(n int) bool
	// Wait lets others work for some time.
	Wait(time.Duration)
	// Local is the zone of 'localtime'.
	Local() *time.Location
	// Over is called after the context of the connection has ended. It does not return.
	Over()
}

// env answers what SQLite asks of a system. What it does not define, all of it for virtual tables, hooks and traces
// that nobody registers, is a nil method: calling it is a fault that breaks the connection.
type env struct {
	wasm.Xenv
	conn      *Conn
	mem       *memory
	page      []byte
	busySince time.Time
}

func (e *env) Xmemory() wasm.Memory { return e.mem }

func (e *env) get32(p int32) int32 { return int32(binary.LittleEndian.Uint32(e.mem.buf[uint32(p):])) }

func (e *env) put32(p, v int32) { binary.LittleEndian.PutUint32(e.mem.buf[uint32(p):], uint32(v)) }

func (e *env) put64(p int32, v int64) {
	binary.LittleEndian.PutUint64(e.mem.buf[uint32(p):], uint64(v))
}

// put writes a string and its NUL.
func (e *env) put(p int32, s string) {
	b := e.bytes(p, int32(len(s)+1))
	copy(b, s)
	b[len(s)] = 0
}

func (e *env) Xgo_progress_handler(int32) int32 {
	e.conn.host.Step()
	return 0
}

func (e *env) Xgo_randomness(_, n, to int32) int32 {
	_, _ = rand.Read(e.bytes(to, n))
	return n
}

func (e *env) Xgo_current_time_64(_, result int32) int32 {
	const unixEpoch = 210866760000000 // milliseconds of the Julian day
	e.put64(result, unixEpoch+time.Now().UnixMilli())
	return 0
}

func (e *env) Xgo_localtime(tm int32, t int64) int32 {
	at := time.Unix(t, 0).In(e.conn.host.Local())
	dst := 0
	if at.IsDST() {
		dst = 1
	}
	for i, v := range []int{
		at.Second(), at.Minute(), at.Hour(), at.Day(), int(at.Month() - 1), at.Year() - 1900,
		int(at.Weekday()), at.YearDay() - 1, dst,
	} {
		e.put32(tm+int32(4*i), int32(v))
	}
	return 0
}

func (e *env) Xgo_log(int32, int32, int32) {}
func (e *env) Xgo_destroy(int32)           {}

func (e *env) Xgo_func(context, app, n, args int32) {
	values := make([]Value, n)
	for i := range values {
		values[i] = Value{e.conn, e.get32(args + int32(4*i))}
	}
	e.conn.funcs[app-1](Result{e.conn, context}, values)
}

// Conn is a connection to a database. Only one goroutine may use it, from Open to Close.
type Conn struct {
	*env
	m       *wasm.Module
	host    Host
	fs      FS
	db      int32
	funcs   []func(Result, []Value)
	files   map[int32]File
	handle  int32
	stop    func() bool
	faults  bool // what the goroutine did with faults before
	broken  bool
	scratch int32
}

// Open opens the database name with at most max bytes of memory. Until Close, faults of the goroutine are panics.
func Open(ctx context.Context, host Host, fs FS, name string, flags OpenFlag, max int) (*Conn, error) {
	mem, err := newMemory(host, max)
	if err != nil {
		return nil, err
	}
	c := &Conn{host: host, fs: fs, files: map[int32]File{}}
	c.env = &env{conn: c, mem: mem}
	c.faults = debug.SetPanicOnFault(true)
	c.stop = context.AfterFunc(ctx, mem.revoke)
	rc := c.open(name, flags)
	if rc != 0 {
		err := c.errorOf(rc, "")
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Conn) open(name string, flags OpenFlag) (rc int32) {
	defer c.trap(&rc)
	const static = 5 * pageSize // the data and the stack of the library
	if c.mem.Grow(static/pageSize, 0) < 0 {
		return int32(NoMem)
	}
	c.m = wasm.New(c.env)
	c.m.X_initialize()
	if c.scratch = c.alloc(16); c.scratch == 0 {
		return int32(NoMem)
	}
	p := c.string(name)
	if p == 0 {
		return int32(NoMem)
	}
	rc = c.m.Xsqlite3_open_v2(p, c.scratch, int32(flags|openURI|openExtended), 0)
	c.db = c.get32(c.scratch)
	c.m.Xsqlite3_free(p)
	if rc == 0 {
		c.m.Xsqlite3_progress_handler_go(c.db, 1000)
	}
	return rc
}

// trap turns what SQLite's code panics with into a result. A fault after the end of the context is that end.
func (c *Conn) trap(rc *int32) {
	r := recover()
	if r == nil {
		return
	}
	c.broken = true
	if c.mem.revoked() {
		c.host.Over()
	}
	switch r.(type) {
	case runtime.Error, string:
		// SQLite's own stack, of 64 KiB, is used up, or its memory in the middle of something that cannot say so.
		if rc != nil {
			*rc = int32(NoMem)
		}
	default:
		panic(r)
	}
}

// Broken reports whether SQLite was left in the middle of its work. The connection can only be closed then.
func (c *Conn) Broken() bool { return c.broken }

// Close closes the database and gives its memory back. What a broken connection was writing stays as a hot journal.
func (c *Conn) Close() {
	if c.mem == nil {
		return
	}
	defer c.release()
	if !c.broken && c.db != 0 {
		var rc int32
		func() {
			defer c.trap(&rc)
			c.m.Xsqlite3_close_v2(c.db)
		}()
	}
}

func (c *Conn) release() {
	c.stop()
	for _, f := range c.files {
		_ = f.Close()
	}
	c.mem.close()
	c.mem, c.m, c.files = nil, nil, nil
	debug.SetPanicOnFault(c.faults)
}

// alloc is memory of SQLite's, 0 when there is none.
func (c *Conn) alloc(n int) int32 { return c.m.Xsqlite3_malloc64(int64(n)) }

func (c *Conn) string(s string) int32 {
	p := c.alloc(len(s) + 1)
	if p != 0 {
		c.put(p, s)
	}
	return p
}
