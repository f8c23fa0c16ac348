package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/pgbox/pgbox/gateway/config"
	"github.com/pgbox/pgbox/gateway/confine"
	"github.com/pgbox/pgbox/gateway/keeper"
)

// workerName is the sub-command that serves behind a parent; nobody types it.
const workerName = "serve-behind-parent"

// sockets are where a server listens, and who else holds them.
type sockets struct {
	api, metrics net.Listener   // metrics: nil without METRICS_ADDR
	worker       *keeper.Worker // nil without a parent
}

// listen opens the sockets of a configuration.
func listen(ctx context.Context, cfg *config.Config) ([]*net.TCPListener, error) {
	addresses := []string{net.JoinHostPort(cfg.Host, fmt.Sprint(cfg.Port))}
	if cfg.MetricsAddr != "" {
		addresses = append(addresses, cfg.MetricsAddr)
	}
	var all []*net.TCPListener
	for _, a := range addresses {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", a)
		if err != nil {
			for _, open := range all {
				_ = open.Close()
			}
			return nil, err
		}
		all = append(all, l.(*net.TCPListener))
	}
	return all, nil
}

// start serves until ctx is done: behind a parent, which is this process, or in this process. env are settings that are
// not in the environment. alone says that this process has no children of its own yet, so that the parent, too, can be
// confined.
func start(ctx context.Context, cfg *config.Config, env []string, alone bool, ready func(base string) error) error {
	listeners, err := listen(ctx, cfg)
	if err != nil {
		return err
	}
	base := "http://" + reachable(listeners[0].Addr().(*net.TCPAddr))
	if !cfg.Supervise || !keeper.Supported {
		if !alone {
			// It has to end its database later, which a confined process cannot.
			if cfg.Sandbox == confine.Required {
				return errors.New("SANDBOX=required with a database of its own takes SUPERVISE=on")
			}
			cfg.Sandbox = confine.Off
		}
		s := sockets{api: listeners[0]}
		if len(listeners) > 1 {
			s.metrics = listeners[1]
		}
		return serve(ctx, cfg, s, func() error { return ready(base) })
	}
	if alone {
		n, err := needs(cfg)
		if err == nil {
			n.Read = append(n.Read, cfg.Runtimes) // for what the server starts before it confines itself
			n, err = n.Parent()
		}
		if err != nil {
			return err
		}
		if _, err := confine.Enter(cfg.Sandbox, n); err != nil {
			return sandboxError(err)
		}
	}
	return keeper.Run(ctx, keeper.Config{
		Listeners: listeners, Args: []string{workerName}, Env: env, Grace: cfg.ShutdownTimeout + 15*time.Second,
		Reap:  alone && os.Getpid() == 1,
		Ready: func() error { return ready(base) },
	})
}

func sandboxError(err error) error {
	return fmt.Errorf("%w (SANDBOX=auto makes do with what the kernel can, SANDBOX=off does without)", err)
}

// workerCommand serves on the sockets that its parent keeps.
func workerCommand() *cobra.Command {
	return &cobra.Command{
		Use: workerName, Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := config.Load(os.Getenv)
			if err != nil {
				return err
			}
			setLogLevel(cfg.LogLevel)
			w, err := keeper.Inherit()
			if err != nil {
				return err
			}
			if w == nil {
				return errors.New("pgbox serve starts this")
			}
			s := sockets{api: w.Listeners[0], worker: w}
			if len(w.Listeners) > 1 {
				s.metrics = w.Listeners[1]
			}
			return serve(cmd.Context(), cfg, s, w.Ready)
		},
	}
}

// serveMetrics serves /metrics on a listener of its own, until the function that it returns is called.
func serveMetrics(l net.Listener, h http.Handler) (stop func()) {
	if l == nil {
		return func() {}
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", h)
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute,
		WriteTimeout: time.Minute}
	go func() {
		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			slog.Error("metrics are not served", "op", "metrics", "err", err)
		}
	}()
	return func() { _ = srv.Close() }
}
