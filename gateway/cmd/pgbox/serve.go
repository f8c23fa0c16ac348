package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/spf13/cobra"

	"github.com/pgbox/pgbox/gateway/auth"
	"github.com/pgbox/pgbox/gateway/config"
	"github.com/pgbox/pgbox/gateway/confine"
	"github.com/pgbox/pgbox/gateway/feed"
	"github.com/pgbox/pgbox/gateway/httpapi"
	"github.com/pgbox/pgbox/gateway/lock"
	"github.com/pgbox/pgbox/gateway/mcp"
	"github.com/pgbox/pgbox/gateway/relay"
	"github.com/pgbox/pgbox/gateway/sandbox"
	"github.com/pgbox/pgbox/gateway/sched"
	"github.com/pgbox/pgbox/gateway/shell/command"
	"github.com/pgbox/pgbox/gateway/store"
)

func serveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "serve", GroupID: "server", Short: "Serve from the database at DATABASE_URL", Args: cobra.NoArgs,
		Long: "Serve from the database at DATABASE_URL, whose schema must be this binary's (`pgbox migrate up`).\n\nEnvironment, with defaults:\n\n  " +
			strings.Join(config.Variables(), "\n  "),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := config.Load(os.Getenv)
			if err = errors.Join(err, cfg.Require(os.Getenv, "DATABASE_URL", "AUTH_SECRET")); err != nil {
				return fmt.Errorf("the configuration is not usable:\n%w", err)
			}
			setLogLevel(cfg.LogLevel)
			return start(cmd.Context(), cfg, nil, true, func(base string) error {
				_, err := fmt.Printf("pgbox serves at %s\n", base)
				return err
			})
		},
	}
}

func setLogLevel(level string) {
	var l slog.Level
	if l.UnmarshalText([]byte(level)) == nil {
		slog.SetLogLoggerLevel(l)
	}
}

// serve runs a gateway until ctx is done, then lets what runs finish. ready is called once requests are answered.
func serve(ctx context.Context, cfg *config.Config, on sockets, ready func() error) error {
	st, err := store.Open(ctx, store.Config{
		URL: string(cfg.DatabaseURL), ReplicaURL: string(cfg.DatabaseReplicaURL), MaxConns: int32(cfg.DatabasePoolSize),
		ExecMode: store.ExecMode(cfg.DatabaseExecMode),
		LockWait: cfg.LockTimeout,
	})
	if err != nil {
		return err
	}
	defer st.Close()
	schema := &schemaProbe{url: string(cfg.DatabaseURL)}
	defer schema.close()
	if err := schema.check(ctx); err != nil {
		return err
	}
	verifier, err := auth.NewVerifier(string(cfg.AuthSecret), cfg.Tenants)
	if err != nil {
		return err
	}
	locks, pingLocks, closeLocks, err := locker(cfg)
	if err != nil {
		return err
	}
	defer closeLocks()
	programs, runtimes, err := machines(cfg)
	if err != nil {
		return err
	}
	defer programs.Close()
	follow := feed.New(feed.Config{Mode: feed.Mode(cfg.CacheInvalidation), URL: string(cfg.DatabaseDirectURL)})
	service := sandbox.New(sandbox.Config{
		Store: st, Feed: follow, Locker: locks, Commands: command.All(), Governor: sched.Start(),
		BlobCacheBytes: cfg.ContentCacheBytes, TreeCacheBytes: cfg.TreeCacheBytes, MaxLiveBytes: cfg.MemoryLimit,
		Limits: cfg.Limits, MaxFileSize: cfg.MaxFileSize, MaxState: cfg.MaxState, OutputKeep: int(cfg.MaxOutput),
		OutputMax: cfg.MaxPrinted, MaxRuns: cfg.MaxExecs, MaxQueue: cfg.MaxQueue,
		LockTimeout: cfg.LockTimeout, Machines: programs.Source(),
	})
	started, cancelStart := context.WithTimeout(ctx, 10*time.Second)
	err = follow.Start(started, service.Trees())
	cancelStart()
	if err != nil {
		return err
	}
	defer follow.Stop()
	defer keepMemory(ctx, service.Running)() // reads what the confinement hides
	confined, err := enter(cfg)
	if err != nil {
		return err
	}
	defer keepHouse(ctx, st, cfg.Housekeeping, store.Retention{Grace: cfg.HousekeepingGrace, History: cfg.HistoryRetention,
		Operations: cfg.JournalMax})()
	defer keepChecking(ctx, st, cfg.FsckInterval)()
	metrics := prometheus.NewRegistry()
	follow.Register(metrics)
	st.Register(metrics)
	metrics.MustRegister(service)
	metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	cancellations, closeRelay, err := cancellationRelay(cfg)
	if err != nil {
		return err
	}
	defer closeRelay()
	tools := mcp.New(mcp.Config{
		Relay:   cancellations,
		Version: version, Service: service, Verifier: verifier, Origins: cfg.MCPOrigins, MaxBytes: cfg.SandboxMaxBytes,
		MaxInodes: cfg.SandboxMaxInodes,
		Static: mcp.StaticKey{Key: string(cfg.MCPKey), Header: cfg.MCPHeader, Subject: cfg.MCPSubject,
			Tenant: cfg.MCPTenant},
	})
	handler := httpapi.New(httpapi.Config{
		MCP:     tools,
		Version: version, Service: service, Verifier: verifier, AuthSecret: string(cfg.AuthSecret),
		AdminSecret: string(cfg.AdminSecret),
		TrustProxy:  cfg.TrustProxy, Metrics: metrics, MetricsElsewhere: on.metrics != nil,
		Replica: st.Replica, Feed: func() feed.Status { s, _ := follow.Status(); return s },
		MaxBytes: cfg.SandboxMaxBytes, MaxInodes: cfg.SandboxMaxInodes, Sandbox: &confined, Runtimes: runtimes,
		Draining: func() bool { return ctx.Err() != nil },
		Ready: func(ctx context.Context) map[string]string {
			ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
			defer cancel()
			down := map[string]string{}
			if name, why := schema.down(ctx); why != "" {
				down[name] = why
			}
			if pingLocks(ctx) != nil {
				down["redis"] = "does not answer: scripts that write are refused, read-only ones run"
			}
			if _, why := follow.Status(); why != "" {
				down["listener"] = why
			}
			return down
		},
	})
	defer serveMetrics(on.metrics, httpapi.MetricsHandler(metrics))()
	return answer(ctx, cfg, on, handler, service, ready)
}

// enter gives up what a server with this configuration has no use for.
func enter(cfg *config.Config) (confine.Restrictions, error) {
	n, err := needs(cfg)
	if err != nil {
		return confine.Restrictions{}, err
	}
	net.DefaultResolver.PreferGo = true // the C library's would load more of itself
	s, err := confine.Enter(cfg.Sandbox, n)
	if err != nil {
		return s, sandboxError(err)
	}
	if s.Complete() {
		slog.Info("confined", "op", "serve", "sandbox", s.String())
	} else {
		slog.Warn("not confined, or not fully", "op", "serve", "sandbox", s.String(), "missing",
			strings.Join(s.Missing, "; "))
	}
	return s, nil
}

// answer answers requests until ctx is done, then lets what runs finish.
func answer(
	ctx context.Context, cfg *config.Config, on sockets, handler http.Handler, service *sandbox.Service,
	ready func() error,
) error {
	// No write timeout: a stream lasts as long as its script. Bodies have to arrive, though.
	srv := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 5 * time.Minute,
		IdleTimeout: 2 * time.Minute}
	if on.worker != nil {
		on.worker.Configure(srv)
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(on.api) }()
	if err := ready(); err != nil {
		return errors.Join(err, srv.Close(), service.Shutdown(ctx))
	}
	select {
	case err := <-failed:
		return errors.Join(err, service.Shutdown(context.WithoutCancel(ctx)))
	case <-ctx.Done():
	}
	slog.Info("stopping: scripts that run may finish", "at_most", cfg.ShutdownTimeout)
	srv.SetKeepAlivesEnabled(false) // clients come back through their balancer
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), cfg.ShutdownTimeout)
	defer cancel()
	// The service first: it ends what outlasts the timeout, so that its callers still get their answers.
	err := service.Shutdown(drain)
	last, cancelLast := context.WithTimeout(context.WithoutCancel(ctx), lastAnswers)
	defer cancelLast()
	e := srv.Shutdown(last)
	if stopped := <-failed; !errors.Is(stopped, http.ErrServerClosed) {
		err = errors.Join(err, stopped)
	}
	if e == nil {
		e = srv.Shutdown(last) // once more: one that was being accepted is known only now
	}
	if e != nil {
		err = errors.Join(err, e, srv.Close())
	}
	return err
}

// lastAnswers bounds the wait for connections whose requests are answered. net/http waits up to 6 s for one that has
// not sent a request yet, as clients open them in reserve.
const lastAnswers = 10 * time.Second

// locker is the one of the configuration, with a probe of it and its end. Without Redis this process serves alone.
func locker(cfg *config.Config) (l lock.Locker, ping func(context.Context) error, end func(), err error) {
	bounds := lock.Config{Wait: cfg.LockTimeout}
	if cfg.RedisURL == "" {
		return lock.NewLocal(bounds), func(context.Context) error { return nil }, func() {}, nil
	}
	r, err := lock.NewRedis(lock.RedisConfig{URL: string(cfg.RedisURL), Lease: cfg.LockLease, Config: bounds})
	if err != nil {
		return nil, nil, nil, err
	}
	return r, r.Ping, func() {
		if err := r.Close(); err != nil {
			slog.Warn("closing the connections to Redis", "op", "stop", "err", err)
		}
	}, nil
}

// cancellationRelay reaches the gateways that share the Redis of the configuration; without one there are no others.
func cancellationRelay(cfg *config.Config) (mcp.Relay, func(), error) {
	if cfg.RedisURL == "" {
		return nil, func() {}, nil
	}
	r, err := relay.New(string(cfg.RedisURL), "pgbox:cancel")
	if err != nil {
		return nil, nil, err
	}
	return r, func() {
		if err := r.Close(); err != nil {
			slog.Warn("closing the connections to Redis", "op", "stop", "err", err)
		}
	}, nil
}

// reachable is an address a client on this machine can use.
func reachable(a *net.TCPAddr) string {
	host := a.IP.String()
	if a.IP.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, fmt.Sprint(a.Port))
}
