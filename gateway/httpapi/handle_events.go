package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/pgbox/pgbox/gateway/sandbox"
	"github.com/pgbox/pgbox/gateway/wire"
)

// sandboxEvent is one server-sent event of a sandbox; T is also its name.
type sandboxEvent struct {
	T         string `json:"t" enum:"change,version,gap,error"`
	Version   int64  `json:"version,omitempty" doc:"the sandbox's version the change led to; all changes of one version became visible at once"`
	Op        string `json:"op,omitempty" doc:"change: create, write, rename, unlink, …"`
	Path      string `json:"path,omitempty"`
	PathTo    string `json:"pathTo,omitempty" doc:"the new name of a rename, the other side of a link"`
	Exec      string `json:"execId,omitempty" doc:"the run that did it; absent for what was done in SQL"`
	At        string `json:"at,omitempty" format:"date-time"`
	Code      string `json:"code,omitempty"`
	Error     string `json:"error,omitempty"`
	Retryable *bool  `json:"retryable,omitempty"`
}

// Bounds of a stream of events.
const (
	slowAfter  = 5 * time.Second  // a client that takes longer to read one delivery is told that it is too slow
	slowMax    = 30 * time.Second // and one that takes that long cannot even be told
	pingEvery  = 10 * time.Second
	lastEvent  = "Last-Event-ID"
	afterParam = "after"
)

var errSlow = errors.New("the client reads too slowly")

func (s *server) eventRoutes() {
	op := operation(http.MethodGet, sandboxesPath+"/{id}/events", "events",
		"Follow what is committed in a sandbox, as server-sent events", "sandboxes", false)
	op.Description = "An event `change` for every operation on a file, in order, and `version` for a version that changed no file; the first event of a stream that is not resumed is the version it begins at. " +
		"Every event has an id: with it in Last-Event-ID the stream goes on behind that event, and nothing is missed or repeated; if operations behind it are no longer in the journal, `gap` is the first event, with the version up to which they may be missing. A client that reads too slowly is told so in an event `error` (code ESLOW), and the stream ends."
	place := &huma.Schema{Type: huma.TypeString, Pattern: `^[0-9]+(\.[0-9]+)?$`}
	op.Parameters = []*huma.Param{
		{Name: lastEvent, In: "header", Description: "id of the last event that was received", Schema: place},
		{Name: afterParam, In: "query",
			Description: "the same, for clients that cannot set headers; a version is the place behind all its changes, 0 the beginning", Schema: place},
	}
	op.Responses = map[string]*huma.Response{"200": {Description: "The stream", Content: map[string]*huma.MediaType{
		"text/event-stream": {Schema: huma.SchemaFromType(s.api.OpenAPI().Components.Schemas,
			reflect.TypeFor[sandboxEvent]())},
	}}}
	s.raw(op, s.sandboxEvents)
}

// cursor reads the id of an event: VERSION.SEQ, or VERSION for all of it.
func cursor(id string) (*sandbox.Cursor, error) {
	version, seq, part := strings.Cut(id, ".")
	v, err := strconv.ParseUint(version, 10, 63)
	c := &sandbox.Cursor{Version: int64(v), Seq: sandbox.Whole}
	if err == nil && part {
		var n uint64
		n, err = strconv.ParseUint(seq, 10, 31)
		c.Seq = int32(n)
	}
	if err != nil {
		return nil, errors.New("not the id of an event")
	}
	return c, nil
}

func eventID(c sandbox.Cursor) string {
	if c.Seq == sandbox.Whole {
		return strconv.FormatInt(c.Version, 10)
	}
	return fmt.Sprintf("%d.%d", c.Version, c.Seq)
}

func (s *server) sandboxEvents(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	id, err := sandbox.ParseID(r.PathValue("id"))
	if err != nil {
		return err
	}
	var after *sandbox.Cursor
	from := r.Header.Get(lastEvent)
	if from == "" {
		from = r.URL.Query().Get(afterParam)
	}
	if from != "" {
		if after, err = cursor(from); err != nil {
			return invalidInput(ctx, lastEvent+": "+err.Error())
		}
	}
	c := caller(ctx, "events")
	if err := s.Service.Check(ctx, c, id); err != nil {
		return err
	}
	rc := http.NewResponseController(w)
	// The deadline for the request's own bytes does not end the stream.
	_ = rc.SetReadDeadline(time.Time{})
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	st := &eventWriter{w: w, rc: rc}
	if after != nil {
		st.at = *after
	}
	if err = st.flush(); err == nil {
		err = s.Service.Follow(ctx, c, id, after, st.deliver)
	}
	st.end(ctx, err)
	return nil
}

// eventWriter writes what happens in one sandbox to one client.
type eventWriter struct {
	w    http.ResponseWriter
	rc   *http.ResponseController
	buf  bytes.Buffer
	at   sandbox.Cursor // of the last event
	last time.Time      // when something was written
}

// deliver writes news. It holds up the caller while the client does not read, for a bounded time: what the client did
// not get is in the journal.
func (e *eventWriter) deliver(n sandbox.News) error {
	for i := range n.Changes {
		c := &n.Changes[i]
		ev := sandboxEvent{T: "change", Version: c.Version, Op: c.Op, Path: c.Path, PathTo: c.PathTo, At: sandbox.Timestamp(c.At)}
		if c.Exec != nil {
			ev.Exec = c.Exec.String()
		}
		if err := e.event(sandbox.Cursor{Version: c.Version, Seq: c.Seq}, &ev); err != nil {
			return err
		}
	}
	switch {
	case n.Gap:
		if err := e.event(n.At, &sandboxEvent{T: "gap", Version: n.At.Version}); err != nil {
			return err
		}
	case n.At.Version > e.at.Version:
		if err := e.event(n.At, &sandboxEvent{T: "version", Version: n.At.Version}); err != nil {
			return err
		}
	case e.buf.Len() == 0:
		if time.Since(e.last) < pingEvery {
			return nil
		}
		e.buf.WriteString(": still here\n\n")
	}
	began := time.Now()
	if err := e.flush(); err != nil {
		return err
	}
	if time.Since(began) > slowAfter {
		return errSlow
	}
	return nil
}

func (e *eventWriter) event(at sandbox.Cursor, ev *sandboxEvent) error {
	e.at = at
	data, err := json.Marshal(ev)
	if err != nil {
		return err
	}
	fmt.Fprintf(&e.buf, "id: %s\nevent: %s\ndata: %s\n\n", eventID(at), ev.T, data)
	return nil
}

func (e *eventWriter) flush() error {
	_ = e.rc.SetWriteDeadline(time.Now().Add(slowMax))
	e.last = time.Now()
	if _, err := e.w.Write(e.buf.Bytes()); err != nil {
		return errClientGone
	}
	e.buf.Reset()
	if err := e.rc.Flush(); err != nil {
		return errClientGone
	}
	return nil
}

// end says why the stream ends, to a client that is still there. The event has no id: the client resumes behind the one
// before.
func (e *eventWriter) end(ctx context.Context, err error) {
	if ctx.Err() != nil || errors.Is(err, errClientGone) {
		return
	}
	body := newErrorBody(ctx, wire.CodeSlow, "the client reads too slowly; resume with "+lastEvent)
	if !errors.Is(err, errSlow) {
		body = toBody(ctx, err)
	}
	data, err := json.Marshal(sandboxEvent{T: "error", Code: body.Code, Error: body.Message, Retryable: &body.Retryable})
	if err != nil {
		return
	}
	e.buf.Reset()
	fmt.Fprintf(&e.buf, "event: error\ndata: %s\n\n", data)
	_ = e.flush() // the client is gone when this fails
}
