package testbed

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/pgbox/pgbox/gateway/devdb/link"
)

// Gateway is one replica. It is addressed through a link, and so keeps its address when it is started again.
type Gateway struct {
	Name string
	Link *link.Link // clients → gateway

	process process
	log     string // its file
}

// URL is where clients reach it.
func (g *Gateway) URL() string { return "http://" + g.Link.Addr() }

func (b *Bed) startGateways(ctx context.Context) error {
	for i := range b.cfg.Gateways {
		g, err := b.newGateway(i)
		if err != nil {
			return err
		}
		b.Gateways = append(b.Gateways, g)
		if err := g.Restart(ctx); err != nil {
			return err
		}
	}
	return b.Ready(ctx, time.Minute)
}

func (b *Bed) newGateway(i int) (*Gateway, error) {
	g := &Gateway{Name: "gateway" + strconv.Itoa(i+1)}
	mode, pooled := []string{"cache_statement", "cache_describe", "exec"}[i%3], i%3 != 0
	links := make([]*link.Link, 4)
	for j, name := range []string{"clients → " + g.Name, g.Name + " → postgres", g.Name + "'s listener → postgres",
		g.Name + " → redis"} {
		if j == 1 && pooled {
			name = g.Name + " → pgbouncer"
		}
		var err error
		if links[j], err = b.newLink(name, j == 1 && !pooled || j == 2); err != nil {
			return nil, err
		}
	}
	g.Link = links[0]
	if pooled {
		b.mu.Lock()
		links[1].To("tcp", "127.0.0.1:"+strconv.Itoa(b.bouncer.Port))
		b.toBouncer = append(b.toBouncer, links[1])
		b.mu.Unlock()
	}
	links[3].To("tcp", "127.0.0.1:"+strconv.Itoa(b.port))
	if err := b.lead(); err != nil {
		return nil, err
	}
	g.log = filepath.Join(b.Dir, g.Name+".log")
	log, err := logFile(g.log)
	if err != nil {
		return nil, err
	}
	env := append(os.Environ(), "HOST=127.0.0.1", "PORT=0", "AUTH_SECRET="+Secret,
		"DATABASE_URL="+serverURL(links[1], "gateway"), "DATABASE_DIRECT_URL="+serverURL(links[2], "gateway"),
		"DATABASE_EXEC_MODE="+mode, "DATABASE_POOL_SIZE=8", "REDIS_URL=redis://"+links[3].Addr(),
		"LOCK_LEASE="+b.cfg.Lease.String(), "LOCK_TIMEOUT=10s", "SHUTDOWN_TIMEOUT=5s",
		"SUPERVISE=off") // it is the process that is frozen
	g.process = process{name: g.Name, make: func() *exec.Cmd {
		cmd := exec.CommandContext(context.Background(), b.Binary(), "serve")
		cmd.Env = append(env, b.cfg.Env...)
		cmd.Stderr = log
		return cmd
	}}
	return g, nil
}

// Restart kills the gateway, if it runs, and starts it; it waits until it serves.
func (g *Gateway) Restart(ctx context.Context) error {
	g.process.end(syscall.SIGKILL, time.Second)
	return g.start(ctx)
}

// Replace ends the gateway in order, as a new release does, and starts it again.
func (g *Gateway) Replace(ctx context.Context) error {
	g.process.end(syscall.SIGTERM, 20*time.Second)
	return g.start(ctx)
}

// Kill ends the gateway with SIGKILL; Restart brings it back.
func (g *Gateway) Kill() { g.process.end(syscall.SIGKILL, time.Second) }

// Freeze and Thaw stop the process with all it does, and let it go on.
func (g *Gateway) Freeze() { g.process.signal(syscall.SIGSTOP) }
func (g *Gateway) Thaw()   { g.process.signal(syscall.SIGCONT) }

// start tries until the gateway serves: one that finds no database does not start. No fault lasts as long as it tries.
func (g *Gateway) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		base, err := g.try()
		if err == nil {
			u, err := url.Parse(base)
			if err != nil {
				return err
			}
			g.Link.To("tcp", u.Host)
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (g *Gateway) try() (base string, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer func() { _ = r.Close() }()
	err = g.process.start(func(cmd *exec.Cmd) { cmd.Stdout = w })
	_ = w.Close()
	if err != nil {
		return "", err
	}
	line, err := bufio.NewReader(r).ReadString('\n')
	base, ok := strings.CutPrefix(strings.TrimSpace(line), "pgbox serves at ")
	if err != nil || !ok {
		<-g.process.ended()
		return "", fmt.Errorf("%s ended at once: %s", g.Name, lastLine(g.log))
	}
	return base, nil
}

// lastLine is the end of a log.
func lastLine(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	b = bytes.TrimRight(b, "\n")
	return string(b[bytes.LastIndexByte(b, '\n')+1:])
}

// Use has the gateways run another binary, from now on.
func (b *Bed) Use(ctx context.Context, binary string) error {
	b.mu.Lock()
	b.cfg.Binary = binary
	b.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	errs := make([]error, len(b.Gateways))
	var wg sync.WaitGroup
	for i, g := range b.Gateways {
		wg.Go(func() { errs[i] = g.Restart(ctx) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return b.Ready(ctx, time.Minute)
}

// Binary is what the gateways run.
func (b *Bed) Binary() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cfg.Binary
}

// Ready waits until every gateway says that it has all it needs.
func (b *Bed) Ready(ctx context.Context, within time.Duration) error {
	for _, g := range b.Gateways {
		if err := until(ctx, within, g.Name, g.ready); err != nil {
			return err
		}
	}
	return nil
}

func (g *Gateway) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, g.URL()+"/readyz", nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return errors.New(res.Status)
	}
	return nil
}
