package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/pgbox/pgbox/gateway/lock"
)

// waiter is a process that locks what it is told to on standard input and prints when it had the lock, or when it heard
// a bare message, in nanoseconds of the machine's clock.
type waiter struct {
	cmd *exec.Cmd
	in  *os.File
	out *bufio.Scanner
}

const bareChannel = "bench:bare"

// serveWaiter is the process of a waiter.
func serveWaiter(ctx context.Context, url string) error {
	l, err := lock.NewRedis(lock.RedisConfig{URL: url})
	if err != nil {
		return err
	}
	o, err := redis.ParseURL(url)
	if err != nil {
		return err
	}
	client := redis.NewClient(o)
	heard := client.Subscribe(ctx, bareChannel)
	if _, err := heard.Receive(ctx); err != nil {
		return err
	}
	messages := heard.Channel()
	fmt.Println("http://ready")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if lines.Text() == bareChannel {
			<-messages
			fmt.Println(time.Now().UnixNano())
			continue
		}
		id, err := uuid.Parse(lines.Text())
		if err != nil {
			return err
		}
		lease, err := l.Lock(ctx, id)
		if err != nil {
			return err
		}
		fmt.Println(time.Now().UnixNano())
		lease.Unlock()
	}
	return errors.Join(l.Close(), heard.Close(), client.Close(), lines.Err())
}

func newWaiter(ctx context.Context, url string) (*waiter, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	w := &waiter{cmd: exec.CommandContext(ctx, self, "-waiter", url)}
	w.cmd.Stderr = os.Stderr
	r, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	w.cmd.Stdin, w.in = r, in
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	w.out = bufio.NewScanner(out)
	if !w.out.Scan() {
		return nil, errors.Join(errors.New("it does not start"), w.cmd.Wait())
	}
	return w, nil
}

func (w *waiter) stop() {
	_ = w.in.Close()
	_ = w.cmd.Wait()
}

// answer is the time that the process prints next.
func (w *waiter) answer() (time.Time, error) {
	if !w.out.Scan() {
		return time.Time{}, errors.New("the waiting process ended")
	}
	var ns int64
	_, err := fmt.Sscan(w.out.Text(), &ns)
	return time.Unix(0, ns), err
}

// benchHandover gives a lock back while a process waits for it, until that process has it, against a message on a bare
// channel of Redis until a process that listens has it. With bar, a time, the ratio is to that instead.
func benchHandover(bar time.Duration) func(ctx context.Context, e *env) (ratio, error) {
	return func(ctx context.Context, e *env) (ratio, error) {
		f, err := e.replicas(ctx)
		if err != nil {
			return ratio{}, err
		}
		l, err := lock.NewRedis(lock.RedisConfig{URL: f.redis.url})
		if err != nil {
			return ratio{}, err
		}
		defer func() { _ = l.Close() }()
		w, err := newWaiter(ctx, f.redis.url)
		if err != nil {
			return ratio{}, err
		}
		defer w.stop()
		handed := func(ctx context.Context) (time.Duration, error) {
			id := uuid.New()
			lease, err := l.Lock(ctx, id)
			if err != nil {
				return 0, err
			}
			if _, err := fmt.Fprintln(w.in, id); err != nil {
				return 0, err
			}
			for inLine := int64(0); inLine == 0; time.Sleep(200 * time.Microsecond) {
				if inLine, err = f.client.LLen(ctx, "pgbox:line:{"+id.String()+"}").Result(); err != nil {
					return 0, err
				}
			}
			start := time.Now()
			lease.Unlock()
			at, err := w.answer()
			return at.Sub(start), err
		}
		bare := func(ctx context.Context) (time.Duration, error) {
			if _, err := fmt.Fprintln(w.in, bareChannel); err != nil {
				return 0, err
			}
			time.Sleep(time.Millisecond)
			start := time.Now()
			if err := f.client.Publish(ctx, bareChannel, "x").Err(); err != nil {
				return 0, err
			}
			at, err := w.answer()
			return at.Sub(start), err
		}
		r, err := compare(ctx, e.times(20, 2), e.times(9, 1), e.times(50, 3), handed, bare)
		if err != nil || bar == 0 {
			return r, err
		}
		m := float64(r.a) / float64(bar)
		return ratio{median: m, lo: m, hi: m, detail: fmt.Sprintf("%s / %s", round(r.a), bar)}, nil
	}
}

// benchReadTrips counts the round trips to Postgres and the commands of Redis that a warm read-only exec makes.
func benchReadTrips(ctx context.Context, e *env) (ratio, error) {
	f, err := e.replicas(ctx)
	if err != nil {
		return ratio{}, err
	}
	id, _, err := e.sandbox(ctx)
	if err != nil {
		return ratio{}, err
	}
	read := map[string]any{"script": "echo hi", "readOnly": true}
	n, err := e.trips(ctx, func(url string) error { _, err := e.exec(ctx, url+"/v1/sandboxes/"+id, read); return err })
	if err != nil {
		return ratio{}, err
	}
	calls := func() (n int64, err error) {
		stats, err := f.client.Info(ctx, "commandstats").Result()
		for line := range strings.Lines(stats) {
			name, rest, _ := strings.Cut(line, ":calls=")
			var k int64
			// ping is of the connections' own
			if _, err := fmt.Sscanf(rest, "%d,", &k); err == nil && name != "cmdstat_info" && name != "cmdstat_ping" {
				n += k
			}
		}
		return n, err
	}
	before, err := calls()
	if err != nil {
		return ratio{}, err
	}
	for range 50 {
		if _, err := e.exec(ctx, f.patched.at(id), read); err != nil {
			return ratio{}, err
		}
	}
	after, err := calls()
	if err == nil && after != before {
		err = fmt.Errorf("50 read-only execs made %d calls of Redis", after-before)
	}
	return ratio{median: float64(n), lo: float64(n), hi: float64(n), detail: fmt.Sprintf("%d / 1, none of Redis", n)}, err
}
