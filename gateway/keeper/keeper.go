package keeper

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"
)

// Config of a parent.
type Config struct {
	// Listeners are the sockets to keep.
	Listeners []*net.TCPListener
	// Program is what to start, by default this process's own; Args are its arguments, without the name.
	Program string
	Args    []string
	// Env are variables that are set for it or changed.
	Env []string
	// Ready is called once, when the first server serves. An error ends the parent.
	Ready func() error
	// Grace is how long a server may take to stop when told to, before it is killed.
	Grace time.Duration
	// Reap takes the status of every child that ends, as process 1 has to. The caller must have no other children.
	Reap bool
}

// ExitError: the first server ended before it served.
type ExitError struct{ Status int }

func (e *ExitError) Error() string {
	return fmt.Sprintf("the server ended before it served, with status %d", e.Status)
}

// variable tells a server how many listeners it inherits.
const variable = "PGBOX_KEEPER"

// The file descriptors that a server inherits.
const (
	controlFD = 3 + iota
	sharedFD
	listenerFD // the first of them
)

// What a connection is doing: the words in shared memory.
const (
	idle      uint32 = iota
	reading          // a request has begun and no handler has it yet
	safe             // it only reads
	keyed            // it carries an Idempotency-Key
	mutating         // it may change something
	answering        // bytes of the answer were written
)

// capacity is how many connections have a word. What is more is served and not answered after a crash.
const capacity = 1 << 16

// Messages of the server to its parent: a kind and the number of a slot.
const (
	msgReady = 'r'
	msgHold  = 'h' // with the connection
	msgFree  = 'f'
	msgSize  = 5
)

var errNotInherited = errors.New("this process was not started by a keeper")

// Worker is the server's end.
type Worker struct {
	Listeners []*Listener

	control *net.UnixConn
	words   []uint32
	free    chan uint32
}

// Inherit returns what the parent left for this process, nil when it has none.
func Inherit() (*Worker, error) {
	if os.Getenv(variable) == "" {
		return nil, nil
	}
	return inherit()
}

type connKey struct{}

// Configure makes srv keep the parent informed.
func (w *Worker) Configure(srv *http.Server) {
	srv.ConnContext = func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) }
	srv.ConnState = func(c net.Conn, s http.ConnState) {
		if k, ok := c.(*conn); ok && s == http.StateIdle {
			k.set(idle)
		}
	}
	next := srv.Handler
	srv.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if k, ok := r.Context().Value(connKey{}).(*conn); ok {
			k.set(kind(r))
		}
		next.ServeHTTP(rw, r)
	})
}

func kind(r *http.Request) uint32 {
	switch {
	case r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions:
		return safe
	case r.Header.Get("Idempotency-Key") != "":
		return keyed
	}
	return mutating
}
