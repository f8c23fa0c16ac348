package httpapi

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/pgbox/pgbox/gateway/wire"
)

// recorder remembers the status for the metrics, and gives the errors and redirections that others write as plain text
// (net/http, the SDK of /mcp) the one form of errors.
type recorder struct {
	http.ResponseWriter
	req    *http.Request
	body   *watched // what is left of it is read after an error
	status int
	late   bool   // some is left
	plain  bool   // the body is not passed on
	text   []byte // what it began with
}

func (r *recorder) WriteHeader(status int) {
	if r.plain {
		return
	}
	if r.status == 0 {
		r.status = status
		if status >= http.StatusBadRequest && r.body.isLong(r.req) &&
			http.NewResponseController(r.ResponseWriter).EnableFullDuplex() == nil {
			r.Header().Set("Connection", "close")
			r.late = true
		}
		redirect := status >= http.StatusMultipleChoices && status < http.StatusBadRequest && status != http.StatusNotModified
		if (redirect || status >= http.StatusBadRequest) && !strings.HasPrefix(r.Header().Get("Content-Type"),
			"application/json") {
			r.plain = true
			return
		}
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	if r.plain {
		r.text = append(r.text, b[:min(len(b), 1024-len(r.text))]...)
		return len(b), nil
	}
	return r.ResponseWriter.Write(b)
}

// Unwrap gives http.ResponseController the connection behind.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// finish answers what is left to answer.
func (r *recorder) finish() {
	if r.plain {
		r.translate()
	}
	if r.late {
		r.hearOut()
	}
}

// translate writes what was plain text in the one form.
func (r *recorder) translate() {
	code := wire.OfStatus(r.status)
	message := strings.TrimSpace(strings.ToValidUTF8(string(r.text), "\ufffd"))
	if code == wire.CodeRedirect {
		message = "this is not how the path is written: see the header Location"
	} else if message == "" {
		message = strings.ToLower(http.StatusText(r.status))
	}
	body := newErrorBody(r.req.Context(), code, message)
	h := r.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Del("Content-Length")
	r.ResponseWriter.WriteHeader(r.status)
	_ = encode(r.ResponseWriter, body) // the client is gone when this fails
}

// watched is a body of which is known whether it was read to its end.
type watched struct {
	io.ReadCloser
	over bool
}

// Close leaves the rest to be read; the server closes its own.
func (*watched) Close() error { return nil }

// isLong reports whether more of the body is left than net/http reads by itself.
func (b *watched) isLong(r *http.Request) bool {
	return b != nil && !b.over && r.ProtoMajor == 1 && (r.ContentLength < 0 || r.ContentLength > unheard) &&
		r.Header.Get("Expect") == ""
}

func (b *watched) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.over = b.over || err != nil
	return n, err
}

// What is read of a body that was refused before its end.
const (
	unheard     = 256 << 10 // so much net/http reads by itself
	hearOutMax  = 1 << 30
	hearOutTime = 30 * time.Second
)

// hearOut reads the rest of a body whose answer is an error. A connection that is closed on a client that still sends
// is reset, and clients that read the answer when they have sent everything (Python's http.client, for one) would never
// see it.
func (r *recorder) hearOut() {
	rc := http.NewResponseController(r.ResponseWriter)
	if rc.Flush() != nil || rc.SetReadDeadline(time.Now().Add(hearOutTime)) != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, r.body, hearOutMax) // whatever is left then ends with the connection
}

// noRoute answers what no route matches, in particular another method of a path that has some.
func (s *server) noRoute(w http.ResponseWriter, r *http.Request) {
	var allow []string
	for _, m := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete} {
		other := &http.Request{Method: m, URL: r.URL, Host: r.Host}
		if _, pattern := s.mux.Handler(other); pattern != "/" && pattern != "" {
			allow = append(allow, m)
		}
	}
	if allow == nil {
		writeError(w, r, newErrorBody(r.Context(), wire.CodeNotFound, "no such route"))
		return
	}
	w.Header().Set("Allow", strings.Join(allow, ", "))
	writeError(w, r, newErrorBody(r.Context(), wire.CodeMethodNotAllowed, "this path takes "+strings.Join(allow, ", ")))
}

// knownQuery refuses parameters that a route does not have, or has once and is given twice: to pass over one is to
// answer another question.
func knownQuery(r *http.Request, op *huma.Operation) error {
	if r.URL.RawQuery == "" || !strings.HasPrefix(r.URL.Path, "/v1/") {
		return nil
	}
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return invalidInput(r.Context(), "the query of the address cannot be read")
	}
	var known, bad []string
	for _, p := range op.Parameters {
		if p.In == "query" {
			known = append(known, p.Name)
		}
	}
	for name, values := range q {
		i := slices.IndexFunc(op.Parameters, func(p *huma.Param) bool { return p.In == "query" && p.Name == name })
		switch {
		case i < 0 && known == nil:
			bad = append(bad, fmt.Sprintf("%q: this route takes no parameters in the address", name))
		case i < 0:
			bad = append(bad, fmt.Sprintf("%q: is not a parameter of this route, which has %s", name, strings.Join(known, ", ")))
		case len(values) > 1 && op.Parameters[i].Schema.Type != huma.TypeArray:
			bad = append(bad, fmt.Sprintf("%q: is given %d times", name, len(values)))
		}
	}
	if bad == nil {
		return nil
	}
	slices.Sort(bad)
	for i := range bad {
		bad[i] = strings.ToValidUTF8(bad[i], "\ufffd")
	}
	return invalidInput(r.Context(), bad...)
}
