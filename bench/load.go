package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/pgbox/pgbox/gateway/feed"
)

// pace calls f every period until d is over, on a goroutine of wg; late calls are made up for. The first error ends it.
func pace(ctx context.Context, d, period time.Duration, f func(ctx context.Context, i int) error) error {
	start := time.Now()
	for i := 0; ; i++ {
		next := start.Add(time.Duration(i) * period)
		if next.Sub(start) >= d || time.Since(start) >= d {
			return nil
		}
		time.Sleep(time.Until(next))
		if err := f(ctx, i); err != nil {
			return err
		}
	}
}

// The load of benchListeners: writes a second in all, on so many sandboxes; reads a second on each replica.
const (
	pacedWrites    = 200
	pacedReads     = 40
	pacedSandboxes = 8
	pacedEntries   = 1000
)

// usage is the processor time of one run of benchListeners, per second of it.
type usage struct {
	gateways, postgres, slots float64
	writes                    float64
}

func (u usage) String() string {
	return fmt.Sprintf("gateways %.1f %%, Postgres %.1f %% (slots %.1f %%), %.0f writes/s", 100*u.gateways, 100*u.postgres,
		100*u.slots, u.writes)
}

// benchListeners compares the processor time of both modes: one gateway commits, n others read what it has written.
func benchListeners(n int) func(ctx context.Context, e *env) (ratio, error) {
	return func(ctx context.Context, e *env) (ratio, error) {
		f, err := e.replicas(ctx)
		if err != nil {
			return ratio{}, err
		}
		ids := make([]string, pacedSandboxes)
		for i := range ids {
			if ids[i], _, err = e.filled(ctx, e.times(pacedEntries, 50)); err != nil {
				return ratio{}, err
			}
		}
		var ratios []float64
		var both [2][]usage
		for range e.times(3, 1) {
			var total [2]float64
			for i, mode := range []feed.Mode{feed.Replication, feed.Version} {
				u, err := f.paced(ctx, mode, e.times(n, 1), ids)
				if err != nil {
					return ratio{}, err
				}
				both[i] = append(both[i], u)
				total[i] = u.gateways + u.postgres
			}
			ratios = append(ratios, total[0]/max(total[1], 0.01))
		}
		slices.Sort(ratios)
		var mid [2]usage
		for i := range both {
			slices.SortFunc(both[i], func(a, b usage) int {
				if a.gateways+a.postgres < b.gateways+b.postgres {
					return -1
				}
				return 1
			})
			mid[i] = both[i][len(both[i])/2]
		}
		e.plot.cpu(n, mid[0], mid[1])
		return ratio{median: ratios[len(ratios)/2], lo: ratios[0], hi: ratios[len(ratios)-1],
			detail: fmt.Sprintf("%v / %v", mid[0], mid[1])}, nil
	}
}

// paced runs the load on n gateways of a mode. Those who write and what else follows the log are not counted.
func (f *fleet) paced(ctx context.Context, mode feed.Mode, n int, ids []string) (u usage, err error) {
	e := f.e
	others, err := e.walsenders(ctx)
	if err != nil {
		return u, err
	}
	var readers []*process
	defer func() {
		for _, p := range readers {
			p.stop()
		}
	}()
	read := map[string]any{"script": "cat /tmp/written", "readOnly": true}
	write := func(ctx context.Context, id string, i int) error {
		_, err := e.exec(ctx, f.writer.at(id), map[string]any{"script": "echo " + strconv.Itoa(i) + " > /tmp/written"})
		return err
	}
	for range n {
		p, err := f.gateway(ctx, mode)
		if err != nil {
			return u, err
		}
		readers = append(readers, p)
	}
	for _, id := range ids {
		if err := write(ctx, id, 0); err != nil {
			return u, err
		}
		for _, p := range readers {
			if _, err := e.exec(ctx, p.at(id), read); err != nil {
				return u, err
			}
		}
	}
	backend := new(int32)
	if err := e.owner.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(backend); err != nil {
		return u, err
	}
	_, _, postmaster := cpuOf(int(*backend))
	slots, err := e.walsenders(ctx)
	if err != nil {
		return u, err
	}
	slots = slices.DeleteFunc(slots, func(p int32) bool { return slices.Contains(others, p) })
	sample := func() (u usage) {
		for _, p := range readers {
			own, _, _ := cpuOf(p.cmd.Process.Pid)
			u.gateways += own.Seconds()
		}
		for _, p := range slots {
			own, _, _ := cpuOf(int(p))
			u.slots += own.Seconds()
		}
		u.postgres = treeCPU(postmaster).Seconds()
		for _, p := range others {
			own, _, _ := cpuOf(int(p))
			u.postgres -= own.Seconds()
		}
		return u
	}

	d := time.Duration(e.times(5000, 300)) * time.Millisecond
	before, start := sample(), time.Now()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var writes int
	failed := func(e error) {
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			err = e
		}
	}
	for _, id := range ids {
		wg.Go(func() {
			if err := pace(ctx, d, time.Second*time.Duration(len(ids))/pacedWrites, func(ctx context.Context, i int) error {
				mu.Lock()
				writes++
				mu.Unlock()
				return write(ctx, id, i)
			}); err != nil {
				failed(err)
			}
		})
	}
	for _, p := range readers {
		wg.Go(func() {
			if err := pace(ctx, d, time.Second/pacedReads, func(ctx context.Context, i int) error {
				_, err := e.exec(ctx, p.at(ids[i%len(ids)]), read)
				return err
			}); err != nil {
				failed(err)
			}
		})
	}
	wg.Wait()
	after, took := sample(), time.Since(start).Seconds()
	return usage{(after.gateways - before.gateways) / took, (after.postgres - before.postgres) / took,
		(after.slots - before.slots) / took, float64(writes) / took}, err
}

// treeCPU is the processor time of a process and its children, present and past.
func treeCPU(pid int) time.Duration {
	own, past, _ := cpuOf(pid)
	sum := own + past
	names, err := os.ReadDir("/proc")
	if err != nil {
		return sum
	}
	for _, n := range names {
		if child, err := strconv.Atoi(n.Name()); err == nil {
			if own, _, parent := cpuOf(child); parent == pid {
				sum += own
			}
		}
	}
	return sum
}

// closed runs clients that send one request after another for a while, and returns how long each took.
func closed(
	ctx context.Context, clients int, d time.Duration, f func(ctx context.Context, client int) error,
) (took []time.Duration, rate float64, err error) {
	var wg sync.WaitGroup
	all := make([][]time.Duration, clients)
	errs := make([]error, clients)
	start := time.Now()
	for c := range clients {
		wg.Go(func() {
			for errs[c] == nil && time.Since(start) < d {
				t := time.Now()
				errs[c] = f(ctx, c)
				all[c] = append(all[c], time.Since(t))
			}
		})
	}
	wg.Wait()
	sec := time.Since(start).Seconds()
	for c := range clients {
		if errs[c] != nil {
			return nil, 0, errs[c]
		}
		took = append(took, all[c]...)
	}
	return took, float64(len(took)) / sec, nil
}

// benchThroughput compares what clients get done, on sandboxes of their own or all on one, over two gateways, with what
// as many get done of the baseline's requests, on rows of their own or all on one.
func benchThroughput(clients int, own, writing bool) func(ctx context.Context, e *env) (ratio, error) {
	return func(ctx context.Context, e *env) (ratio, error) {
		f, err := e.replicas(ctx)
		if err != nil {
			return ratio{}, err
		}
		for len(f.own) < clients {
			id, _, err := e.sandbox(ctx)
			if err != nil {
				return ratio{}, err
			}
			f.own = append(f.own, id)
		}
		body, bare := []byte(`{"script":"echo hi","readOnly":true}`), f.bare.url+"/select"
		if writing {
			body, bare = []byte(`{"script":"echo x > written"}`), f.bare.url+"/locked"
		}
		which := func(client int) int {
			if own {
				return client
			}
			return 0
		}
		gateways := []*process{f.patched, f.writer}
		ours := func(ctx context.Context, c int) error {
			_, err := e.post(ctx, gateways[c%2].at(f.own[which(c)])+"/exec-sync", body)
			return err
		}
		theirs := func(ctx context.Context, c int) error {
			_, err := e.post(ctx, fmt.Sprintf("%s?id=%d", bare, 1+which(c)), body)
			return err
		}
		var ratios []float64
		var rates [2][]float64
		var took [2][]time.Duration
		for round := range e.times(4, 2) {
			var now [2]float64
			for i, w := range []func(context.Context, int) error{ours, theirs} {
				t, rate, err := closed(ctx, clients, time.Duration(e.times(1500, 50))*time.Millisecond, w)
				if err != nil {
					return ratio{}, err
				}
				now[i] = rate
				if round > 0 { // the first warms
					rates[i], took[i] = append(rates[i], rate), append(took[i], t...)
				}
			}
			if round > 0 {
				ratios = append(ratios, now[1]/now[0])
			}
		}
		slices.Sort(ratios)
		var text [2]string
		var mid [2]float64
		for i := range rates {
			slices.Sort(rates[i])
			mid[i] = rates[i][len(rates[i])/2]
			text[i] = fmt.Sprintf("%.0f/s, p50 %s, p99 %s", mid[i], round(median(took[i])), round(percentile(took[i], 99)))
		}
		e.plot.throughput(kind(own, writing), clients, mid[0], median(took[0]), percentile(took[0], 99))
		return ratio{median: ratios[len(ratios)/2], lo: ratios[0], hi: ratios[len(ratios)-1],
			detail: text[0] + " / " + text[1]}, nil
	}
}

func kind(own, writing bool) string {
	s := "read"
	if writing {
		s = "write"
	}
	if own {
		return s + "-own"
	}
	return s + "-one"
}
