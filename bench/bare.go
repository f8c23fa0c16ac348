package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// serveBare is the baseline of the HTTP benchmarks: handlers with one statement each.
func serveBare(ctx context.Context, url string) error {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return err
	}
	defer pool.Close()
	if _, err := pool.Exec(ctx, "CREATE TABLE IF NOT EXISTS bare (id int PRIMARY KEY, n bigint NOT NULL) WITH (fillfactor = 50); INSERT INTO bare VALUES (1, 0) ON CONFLICT DO NOTHING"); err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /select", func(w http.ResponseWriter, r *http.Request) {
		var n int64
		if err := pool.QueryRow(r.Context(), "SELECT n FROM bare WHERE id = $1", 1).Scan(&n); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = fmt.Fprintf(w, `{"n":%d}`, n)
	})
	mux.HandleFunc("POST /update", func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		var n int64
		if err := pool.QueryRow(r.Context(), "UPDATE bare SET n = n + 1 WHERE id = $1 RETURNING n", 1).Scan(&n); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = fmt.Fprintf(w, `{"n":%d}`, n)
	})
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		<-ctx.Done()
		_ = srv.Close()
	}()
	fmt.Printf("http://%s\n", l.Addr())
	if err := srv.Serve(l); ctx.Err() == nil {
		return err
	}
	<-stopped
	return nil
}
