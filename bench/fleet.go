package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/pgbox/pgbox/gateway/feed"
)

// fleet is what the replicas-… benchmarks run on: a Redis and pgbox processes that share it and the database.
type fleet struct {
	e         *env
	redis     *process
	client    *redis.Client
	writer    *process // commits
	patched   *process // follows by replication
	reloading *process // follows by version
	bare      *process // the baseline, with Redis
	trees     map[int]string
	written   int
	own       []string // sandboxes of the clients of benchThroughput
}

// replicas starts the fleet once.
func (e *env) replicas(ctx context.Context) (_ *fleet, err error) {
	if e.fleet != nil {
		return e.fleet, nil
	}
	f := &fleet{e: e, trees: map[int]string{}}
	e.fleet = f
	if err := f.startRedis(ctx); err != nil {
		return nil, err
	}
	for _, g := range []struct {
		p    **process
		mode feed.Mode
	}{{&f.writer, feed.Version}, {&f.patched, feed.Replication}, {&f.reloading, feed.Version}} {
		if *g.p, err = f.gateway(ctx, g.mode); err != nil {
			return nil, err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	f.bare, err = launch(exec.CommandContext(ctx, self, "-bare", e.dbURL, "-redis", f.redis.url))
	return f, err
}

func (f *fleet) stop() {
	if f == nil {
		return
	}
	for _, p := range []*process{f.writer, f.patched, f.reloading, f.bare} {
		p.stop()
	}
	if f.client != nil {
		_ = f.client.Close()
	}
	f.redis.stop()
}

// startRedis starts a redis-server that keeps nothing on disk.
func (f *fleet) startRedis(ctx context.Context) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	if err := l.Close(); err != nil {
		return err
	}
	dir := filepath.Join(f.e.dir, "redis")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly",
		"no", "--dir", dir, "--loglevel", "warning")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("redis-server (.ci/install installs it): %w", err)
	}
	f.redis = &process{cmd, "redis://127.0.0.1:" + port}
	f.client = redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + port})
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if err := f.client.Ping(ctx).Err(); err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

// gateway starts one more pgbox process.
func (f *fleet) gateway(ctx context.Context, mode feed.Mode) (*process, error) {
	binary, err := f.e.binary(ctx)
	if err != nil {
		return nil, err
	}
	cmd := f.e.serve(ctx, binary, f.e.dbURL)
	cmd.Env = append(cmd.Env, "REDIS_URL="+f.redis.url, "CACHE_INVALIDATION="+string(mode), "DATABASE_POOL_SIZE=16")
	p, err := launch(cmd)
	if err != nil {
		return nil, err
	}
	// It answers before its listener streams.
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		switch s, err := f.e.following(ctx, p); {
		case err != nil:
			p.stop()
			return nil, err
		case s.Mode == string(mode):
			return p, nil
		case time.Now().After(deadline):
			p.stop()
			return nil, fmt.Errorf("its mode is %s, want %s", s.Mode, mode)
		}
	}
}

// filled returns the id of a sandbox of n files, made once.
func (f *fleet) filled(ctx context.Context, n int) (string, error) {
	if id, ok := f.trees[n]; ok {
		return id, nil
	}
	id, _, err := f.e.filled(ctx, n)
	if err == nil {
		f.trees[n] = id
	}
	return id, err
}

// at is the route of a sandbox on a gateway.
func (p *process) at(id string) string { return p.url + "/v1/sandboxes/" + id }

// visible writes one file through the writer and measures a read-only exec on another gateway that must print what was
// written: begun when the writer has answered, or some time after that.
func (f *fleet) visible(ctx context.Context, on *process, entries int, after time.Duration) (work, error) {
	id, err := f.filled(ctx, entries)
	return func(ctx context.Context) (time.Duration, error) {
		f.written++
		want := strconv.Itoa(f.written)
		if _, err := f.e.exec(ctx, f.writer.at(id), map[string]any{"script": "echo " + want +
			" > /tmp/written"}); err != nil {
			return 0, err
		}
		time.Sleep(after)
		start := time.Now()
		got, err := f.e.exec(ctx, on.at(id), map[string]any{"script": "cat /tmp/written", "readOnly": true})
		took := time.Since(start)
		if err == nil && got != want+"\n" {
			err = fmt.Errorf("it reads %q after %q was committed", got, want)
		}
		return took, err
	}, err
}

func benchVisible(entries int, after time.Duration) func(ctx context.Context, e *env) (ratio, error) {
	return func(ctx context.Context, e *env) (ratio, error) {
		f, err := e.replicas(ctx)
		if err != nil {
			return ratio{}, err
		}
		n := e.times(entries, min(entries, 500))
		patched, err := f.visible(ctx, f.patched, n, after)
		if err != nil {
			return ratio{}, err
		}
		reloading, err := f.visible(ctx, f.reloading, n, after)
		if err != nil {
			return ratio{}, err
		}
		r, err := compare(ctx, e.times(5, 1), e.times(5, 1), e.times(20, 2), patched, reloading)
		if err == nil {
			which := "at once"
			if after > 0 {
				which = "later"
			}
			e.plot.visible("replication, "+which, entries, r.a)
			e.plot.visible("version, "+which, entries, r.b)
		}
		return r, err
	}
}

// benchVisibleFlat compares the replica that is patched in a large tree and in a small one.
func benchVisibleFlat(ctx context.Context, e *env) (ratio, error) {
	f, err := e.replicas(ctx)
	if err != nil {
		return ratio{}, err
	}
	large, err := f.visible(ctx, f.patched, e.times(100_000, 500), 0)
	if err != nil {
		return ratio{}, err
	}
	small, err := f.visible(ctx, f.patched, 133, 0)
	if err != nil {
		return ratio{}, err
	}
	return compare(ctx, e.times(10, 1), e.times(9, 1), e.times(50, 2), large, small)
}

// benchCold opens a sandbox on a gateway that has never seen it, against a plain SELECT of its rows.
func benchCold(entries int) func(ctx context.Context, e *env) (ratio, error) {
	return func(ctx context.Context, e *env) (ratio, error) {
		f, err := e.replicas(ctx)
		if err != nil {
			return ratio{}, err
		}
		id, err := f.filled(ctx, e.times(entries, min(entries, 500)))
		if err != nil {
			return ratio{}, err
		}
		other, _, err := e.sandbox(ctx)
		if err != nil {
			return ratio{}, err
		}
		var layers []uuid.UUID
		if err := e.owner.QueryRow(ctx, "SELECT layers FROM pgbox.sandbox WHERE id = $1", id).Scan(&layers); err != nil {
			return ratio{}, err
		}
		if _, err := e.owner.Exec(ctx, "VACUUM ANALYZE pgbox.inode, pgbox.dirent, pgbox.chunk"); err != nil {
			return ratio{}, err
		}
		return compare(ctx, e.times(1, 0), e.times(7, 1), 1,
			func(ctx context.Context) (time.Duration, error) {
				p, err := f.gateway(ctx, feed.Version)
				if err != nil {
					return 0, err
				}
				defer p.stop()
				in := map[string]any{"script": "echo hi", "readOnly": true}
				if _, err := e.exec(ctx, p.at(other), in); err != nil { // opens a connection, prepares statements
					return 0, err
				}
				start := time.Now()
				_, err = e.exec(ctx, p.at(id), in)
				return time.Since(start), err
			},
			timed(func(ctx context.Context) error { return e.rawSelect(ctx, layers) }))
	}
}

// benchLocked compares a write through Redis and Postgres with the least that does the same.
func benchLocked(ctx context.Context, e *env) (ratio, error) {
	f, err := e.replicas(ctx)
	if err != nil {
		return ratio{}, err
	}
	id, _, err := e.sandbox(ctx)
	if err != nil {
		return ratio{}, err
	}
	body := []byte(`{"script":"echo x >> log"}`)
	return compare(ctx, e.times(200, 5), e.times(9, 1), e.times(200, 5),
		timed(func(ctx context.Context) error {
			_, err := e.post(ctx, f.patched.at(id)+"/exec-sync", body)
			return err
		}),
		timed(func(ctx context.Context) error {
			_, err := e.post(ctx, f.bare.url+"/locked?id=1", body)
			return err
		}))
}

// benchRecovery ends the replication connection of a gateway and waits until it follows again; its answers stay right
// meanwhile. The baseline connects, makes a slot and starts a stream.
func benchRecovery(ctx context.Context, e *env) (ratio, error) {
	f, err := e.replicas(ctx)
	if err != nil {
		return ratio{}, err
	}
	others, err := e.walsenders(ctx)
	if err != nil {
		return ratio{}, err
	}
	p, err := f.gateway(ctx, feed.Replication)
	if err != nil {
		return ratio{}, err
	}
	defer p.stop()
	read, err := f.visible(ctx, p, e.times(10_000, 500), 0)
	if err != nil {
		return ratio{}, err
	}
	var bad error
	r, err := compare(ctx, 1, e.times(5, 1), e.times(2, 1),
		func(ctx context.Context) (time.Duration, error) {
			if _, err := read(ctx); err != nil {
				return 0, err
			}
			before, err := e.following(ctx, p)
			if err != nil {
				return 0, err
			}
			cut := 0
			for cut == 0 { // a new stream answers a moment before the view shows it
				err := e.owner.QueryRow(ctx,
					"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_replication WHERE pid <> ALL ($1)", others).Scan(&cut)
				if err != nil {
					return 0, err
				}
			}
			start := time.Now()
			for reads := 0; ; reads++ {
				s, err := e.following(ctx, p)
				if err != nil {
					return 0, err
				}
				if s.Mode == string(feed.Replication) && s.Reconnects > before.Reconnects {
					return time.Since(start), bad
				}
				if reads%20 == 0 {
					if _, err := read(ctx); err != nil {
						return 0, err
					}
				}
				if time.Since(start) > time.Minute {
					return 0, errors.New("it does not follow again")
				}
				time.Sleep(time.Millisecond)
			}
		},
		func(ctx context.Context) (time.Duration, error) {
			start := time.Now()
			_, stop, err := bareReceiver(ctx, e.dbURL)
			if err != nil {
				return 0, err
			}
			took := time.Since(start)
			stop()
			return took, nil
		})
	return r, err
}

// following is what a gateway says of its listener.
func (e *env) following(ctx context.Context, p *process) (feed.Status, error) {
	var out struct {
		CacheInvalidation feed.Status `json:"cacheInvalidation"`
	}
	err := e.get(ctx, p.url+"/readyz", &out)
	return out.CacheInvalidation, err
}

// walsenders are the processes that send the log to somebody now.
func (e *env) walsenders(ctx context.Context) (pids []int32, err error) {
	err = e.owner.QueryRow(ctx, "SELECT coalesce(array_agg(pid), '{}') FROM pg_stat_replication").Scan(&pids)
	return pids, err
}

// cpuOf is the processor time that a process has used, and what it has of children that ended; zero when it is gone.
func cpuOf(pid int) (own, children time.Duration, parent int) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, 0
	}
	// The name may hold blanks; the fields behind it begin with the state.
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	n := func(i int) int { v, _ := strconv.Atoi(f[i]); return v }
	const tick = 10 * time.Millisecond // USER_HZ is 100 on Linux
	return time.Duration(n(11)+n(12)) * tick, time.Duration(n(13)+n(14)) * tick, n(1)
}
