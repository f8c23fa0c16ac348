package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"reflect"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/pgbox/pgbox/gateway/auth"
	"github.com/pgbox/pgbox/gateway/confine"
	"github.com/pgbox/pgbox/gateway/feed"
	"github.com/pgbox/pgbox/gateway/sandbox"
	"github.com/pgbox/pgbox/gateway/store"
	"github.com/pgbox/pgbox/gateway/wire"
)

// Config is what the server stands on.
type Config struct {
	Version     string
	Service     *sandbox.Service
	Verifier    *auth.Verifier // nil: every authenticated route answers AUTH_NOT_CONFIGURED
	AuthSecret  string         // opens /v1/auth/bootstrap; "": AUTH_NOT_CONFIGURED
	AdminSecret string         // opens /v1/auth/admin; "": ADMIN_NOT_CONFIGURED
	TrustProxy  bool           // rate limits go by the last address of X-Forwarded-For
	Metrics     *prometheus.Registry
	// MetricsElsewhere: /metrics is not one of the routes.
	MetricsElsewhere bool
	MCP              http.Handler // serves /mcp; nil: nobody does
	// Ready names what is down, with a short reason each; an empty map is ready.
	Ready func(ctx context.Context) map[string]string
	// Draining reports that the process has been told to stop; may be nil.
	Draining func() bool
	// Sandbox is what the process is confined to; may be nil.
	Sandbox *confine.Restrictions
	// Runtimes says of each interpreter that sandboxes can have that it is ready, or why it is missing; may be nil.
	Runtimes map[string]string
	// Feed describes what keeps cached trees current; may be nil.
	Feed func() feed.Status
	// Replica describes the use of a standby, nil when there is none; may be nil.
	Replica func() *store.ReplicaStatus
	// Quota of new sandboxes whose creator names none; 0: no limit.
	MaxBytes, MaxInodes int64
	// Heartbeat is how often the stream of an exec in which nothing comes says that it lives; 0: every 15 s.
	Heartbeat time.Duration
}

type server struct {
	Config
	api      huma.API
	mux      *http.ServeMux
	attempts *window
	requests *prometheus.HistogramVec
	document []byte // /openapi.json
}

// New returns the handler of every route.
func New(cfg Config) http.Handler {
	s := &server{Config: cfg, mux: http.NewServeMux(), attempts: newWindow(5, time.Minute)}
	if s.Heartbeat <= 0 {
		s.Heartbeat = heartbeat
	}
	if s.Metrics == nil {
		s.Metrics = prometheus.NewRegistry()
	}
	s.requests = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "pgbox_http_request_duration_seconds", Help: "Time from the first byte of a request to the last of its answer.",
		Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
	}, []string{"route", "status"})
	s.Metrics.MustRegister(s.requests)

	hc := huma.DefaultConfig("pgbox", cfg.Version)
	hc.Info.Description = "Persistent bash sandboxes for AI agents whose filesystem lives in Postgres."
	hc.OpenAPIPath, hc.DocsPath, hc.SchemasPath = "", "", ""
	hc.CreateHooks = nil // no $schema links in answers
	hc.AllowAdditionalPropertiesByDefault, hc.FieldsOptionalByDefault = true, true
	hc.Formats = map[string]huma.Format{
		"application/json": jsonFormat, "json": jsonFormat,
		"text/plain": scriptFormat, "text/x-shellscript": scriptFormat,
	}
	hc.Components.SecuritySchemes = map[string]*huma.SecurityScheme{"bearer": {Type: "http", Scheme: "bearer",
		BearerFormat: "JWT"}}
	s.api = humago.New(s.mux, hc)
	s.api.UseMiddleware(func(hctx huma.Context, next func(huma.Context)) {
		r, w := humago.Unwrap(hctx)
		if err := knownQuery(r, hctx.Operation()); err != nil {
			writeError(w, r, err)
			return
		}
		next(hctx)
	})

	s.serviceRoutes()
	s.authRoutes()
	s.sandboxRoutes()
	s.fileRoutes()
	s.execRoutes()
	s.sessionRoutes()
	s.snapshotRoutes()
	s.diffRoutes()
	s.imageRoutes()
	s.kvRoutes()
	s.eventRoutes()
	s.historyRoutes()
	s.quotaRoutes()
	s.archiveRoutes()
	if s.MCP != nil {
		s.mux.Handle("/mcp", s.MCP)
	}
	s.mux.HandleFunc("/", s.noRoute)
	describe(s.api.OpenAPI())
	document, err := json.Marshal(s.api.OpenAPI())
	if err != nil {
		panic(fmt.Sprintf("httpapi: the OpenAPI document cannot be rendered: %v", err)) // a fault of this package
	}
	s.document = document
	return s
}

// describe finishes the OpenAPI document: ServeMux's {path...} is {path} there, and every operation
// answers an ErrorBody by default.
func describe(doc *huma.OpenAPI) {
	schema := huma.SchemaFromType(doc.Components.Schemas, reflect.TypeFor[ErrorBody]())
	code := doc.Components.Schemas.Map()["ErrorBody"].Properties["code"]
	for _, c := range wire.Codes() {
		code.Enum = append(code.Enum, string(c))
	}
	for path, item := range doc.Paths {
		if p := strings.Replace(path, "{path...}", "{path}", 1); p != path {
			delete(doc.Paths, path)
			doc.Paths[p] = item
		}
		for _, op := range []*huma.Operation{item.Get, item.Put, item.Post, item.Delete, item.Patch} {
			if op == nil {
				continue
			}
			if op.Responses == nil {
				op.Responses = map[string]*huma.Response{}
			}
			op.Responses["default"] = &huma.Response{Description: "Error",
				Content: map[string]*huma.MediaType{"application/json": {Schema: schema}}}
		}
	}
}

// operation is a route's description; auth routes and probes pass public.
func operation(method, path, id, summary, tag string, public bool) huma.Operation {
	op := huma.Operation{
		Method: method, Path: path, OperationID: id, Summary: summary, Tags: []string{tag},
		BodyReadTimeout: -1, // the server's own deadlines apply
		MaxBodyBytes:    2 << 20,
	}
	if !public {
		op.Security = []map[string][]string{{"bearer": {}}}
	}
	return op
}

// handle registers a typed route whose errors become ErrorBody.
func handle[I, O any](s *server, op huma.Operation, f func(ctx context.Context, in *I) (*O, error)) {
	huma.Register(s.api, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := f(ctx, in)
		if err != nil {
			return nil, toBody(ctx, err)
		}
		return out, nil
	})
}

// raw registers a route of raw bytes or streams; op describes it.
func (s *server) raw(op huma.Operation, f func(w http.ResponseWriter, r *http.Request) error) {
	s.mux.HandleFunc(op.Method+" "+op.Path, func(w http.ResponseWriter, r *http.Request) {
		err := knownQuery(r, &op)
		if err == nil {
			err = f(w, r)
		}
		if err != nil {
			writeError(w, r, err)
		}
	})
	for _, m := range pathParameter.FindAllStringSubmatch(op.Path, -1) {
		op.Parameters = append([]*huma.Param{{Name: m[1], In: "path", Required: true,
			Schema: &huma.Schema{Type: huma.TypeString}}}, op.Parameters...)
	}
	s.api.OpenAPI().AddOperation(&op)
}

var pathParameter = regexp.MustCompile(`\{(\w+)(?:\.\.\.)?\}`)

// ServeHTTP wraps the routes: a request id, recovery, authentication and metrics.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	id := r.Header.Get("X-Request-Id")
	if !validRequestID.MatchString(id) {
		id = uuid.NewString()
	}
	h := w.Header()
	h.Set("X-Request-Id", id)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "frame-ancestors 'none'")
	rc := &requestContext{id: id}
	r = r.WithContext(context.WithValue(r.Context(), contextKey{}, rc))
	rec := &recorder{ResponseWriter: w, req: r}
	if r.Body != nil && r.Body != http.NoBody {
		rec.body = &watched{ReadCloser: r.Body}
		r.Body = rec.body
	}
	defer func() {
		if p := recover(); p != nil {
			if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(p)
			}
			slog.Error("handler panicked", "request", id, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			if rec.status == 0 {
				writeError(rec, r, newErrorBody(r.Context(), wire.CodeInternal, "internal error"))
			}
		}
		route := r.Pattern
		if route == "" || route == "/" {
			route = "none"
		}
		s.requests.WithLabelValues(route, strconv.Itoa(rec.status)).Observe(time.Since(start).Seconds())
		rec.finish()
	}()
	if strings.HasPrefix(r.URL.Path, "/v1/") && r.URL.Path != bootstrapPath && !s.authenticate(rec, r, rc) {
		return
	}
	s.mux.ServeHTTP(rec, r)
}

func (s *server) authenticate(w http.ResponseWriter, r *http.Request, rc *requestContext) bool {
	if s.Verifier == nil {
		writeError(w, r, newErrorBody(r.Context(), wire.CodeAuthNotConfigured, "authentication is not configured"))
		return false
	}
	identity, err := s.Verifier.Header(r.Header.Get("Authorization"))
	if err != nil {
		w.Header().Set("WWW-Authenticate", "Bearer")
		writeError(w, r, err)
		return false
	}
	rc.identity, rc.agent = identity, r.Header.Get(sandbox.AgentHeader)
	if err := sandbox.CheckAgent(rc.agent); err != nil {
		writeError(w, r, err)
		return false
	}
	return true
}

var validRequestID = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

type contextKey struct{}

type requestContext struct {
	id       string
	agent    string // as the client calls itself
	identity auth.Identity
}

func fromContext(ctx context.Context) *requestContext {
	if rc, ok := ctx.Value(contextKey{}).(*requestContext); ok {
		return rc
	}
	return new(requestContext)
}

func requestID(ctx context.Context) string { return fromContext(ctx).id }

// caller is who the authenticated request speaks for.
func caller(ctx context.Context, route string) sandbox.Caller {
	rc := fromContext(ctx)
	return sandbox.Caller{Tenant: rc.identity.Tenant, Subject: rc.identity.Subject, Agent: rc.agent, Route: route}
}

// maxStaleness is the largest age a read may ask for, in milliseconds.
const maxStaleness = 60_000

// stale is the parameter of a route that reads.
var stale = &huma.Param{
	Name: "maxStalenessMs", In: "query",
	Description: "the sandbox may be shown as it was up to that many milliseconds ago, which spares a question to the database; 0: as last committed",
	Schema:      &huma.Schema{Type: huma.TypeInteger, Minimum: new(0.0), Maximum: new(float64(maxStaleness))},
}

// at is the parameter of a route that can read an earlier state.
var at = &huma.Param{
	Name: "at", In: "query", Description: stateDoc, Schema: &huma.Schema{Type: huma.TypeString, MaxLength: new(300)},
}

const stateDoc = "an earlier state: a snapshot by name or id, @base (what the sandbox started from), a version (57 or @57) or a time (2026-01-31T12:00:00Z), as far as it is kept"

// reader is the caller of a plain route that reads.
func reader(r *http.Request, route string) (sandbox.Caller, error) {
	c := caller(r.Context(), route)
	c.At = r.URL.Query().Get(at.Name)
	if v := r.URL.Query().Get(stale.Name); v != "" {
		n, err := strconv.ParseUint(v, 10, 31)
		if err != nil || n > maxStaleness {
			return c, invalidInput(r.Context(), fmt.Sprintf("%s: want a whole number from 0 to %d", stale.Name, maxStaleness))
		}
		c.MaxStaleness = time.Duration(n) * time.Millisecond
	}
	return c, nil
}

// clientAddress is what rate limits go by.
func (s *server) clientAddress(r *http.Request) string {
	if s.TrustProxy {
		if f := r.Header.Get("X-Forwarded-For"); f != "" {
			return strings.TrimSpace(f[strings.LastIndexByte(f, ',')+1:])
		}
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// MetricsHandler serves what is registered, as Prometheus reads it.
func MetricsHandler(metrics *prometheus.Registry) http.Handler {
	return promhttp.HandlerFor(metrics, promhttp.HandlerOpts{})
}

func (s *server) serviceRoutes() {
	type health struct{ Body state }
	handle(s, operation(http.MethodGet, "/healthz", "health", "The process answers", "service", true),
		func(context.Context, *struct{}) (*health, error) {
			h := new(health)
			h.Body.Status = "ok"
			return h, nil
		})
	s.readyRoute()
	if !s.MetricsElsewhere {
		s.mux.Handle("GET /metrics", MetricsHandler(s.Metrics))
	}
	s.mux.HandleFunc("GET /docs", docs)
	s.mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(s.document)
	})
}
