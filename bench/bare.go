package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
)

// serveBare is the baseline of the HTTP benchmarks: handlers with one statement each, and, with Redis, one that writes
// under a key of it.
func serveBare(ctx context.Context, url, redisURL string) error {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return err
	}
	defer pool.Close()
	if _, err := pool.Exec(ctx,
		"CREATE TABLE IF NOT EXISTS bare (id int PRIMARY KEY, n bigint NOT NULL) WITH (fillfactor = 50); INSERT INTO bare SELECT i, 0 FROM generate_series(1, 64) AS i ON CONFLICT DO NOTHING"); err != nil {
		return err
	}
	// row is the one that a request is for.
	row := func(r *http.Request) int {
		id, err := strconv.Atoi(r.URL.Query().Get("id"))
		if err != nil {
			return 1
		}
		return id
	}
	mux := http.NewServeMux()
	if redisURL != "" {
		o, err := redis.ParseURL(redisURL)
		if err != nil {
			return err
		}
		client := redis.NewClient(o)
		defer func() { _ = client.Close() }()
		mux.HandleFunc("POST /locked", func(w http.ResponseWriter, r *http.Request) {
			n, err := lockedUpdate(r, client, pool, row(r))
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			_, _ = fmt.Fprintf(w, `{"n":%d}`, n)
		})
	}
	mux.HandleFunc("POST /select", func(w http.ResponseWriter, r *http.Request) {
		var n int64
		if err := pool.QueryRow(r.Context(), "SELECT n FROM bare WHERE id = $1", row(r)).Scan(&n); err != nil {
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
		if err := pool.QueryRow(r.Context(), "UPDATE bare SET n = n + 1 WHERE id = $1 RETURNING n",
			row(r)).Scan(&n); err != nil {
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

// lockedUpdate is the least that a write under a lock does: set a key, read a row by its key, commit one row, delete
// the key.
func lockedUpdate(r *http.Request, client *redis.Client, pool *pgxpool.Pool, id int) (n int64, err error) {
	ctx := r.Context()
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return 0, err
	}
	key := "bare:" + strconv.Itoa(id)
	if err := client.Set(ctx, key, "x", 10*time.Second).Err(); err != nil {
		return 0, err
	}
	if err := pool.QueryRow(ctx, "SELECT n FROM bare WHERE id = $1", id).Scan(&n); err != nil {
		return 0, err
	}
	if err := pool.QueryRow(ctx, "UPDATE bare SET n = n + 1 WHERE id = $1 RETURNING n", id).Scan(&n); err != nil {
		return 0, err
	}
	return n, client.Del(ctx, key).Err()
}
