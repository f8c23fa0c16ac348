package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/pgbox/pgbox/bench/cluster/load"
	"github.com/pgbox/pgbox/bench/cluster/testbed"
)

// appendLines has many clients append to one file over all gateways, each its lines in order, and holds what every
// gateway shows against that: every line once, those of a client in the order in which it was answered, and all
// gateways the same.
func appendLines(ctx context.Context, o *options) error {
	return withBed(ctx, o, func(b *testbed.Bed) error {
		t, err := token("alice")
		if err != nil {
			return err
		}
		replicas := make([]load.Replica, len(b.Gateways))
		for i, g := range b.Gateways {
			replicas[i] = load.Replica{Name: g.Name, URL: g.URL(), Token: t}
		}
		a, err := replicas[0].Do(ctx, http.MethodPost, "/v1/sandboxes", "", map[string]any{})
		if err != nil || a.ID == "" {
			return fmt.Errorf("create: %+v, %w", a, err)
		}
		exec := "/v1/sandboxes/" + a.ID + "/exec-sync"
		began := time.Now()
		errs := make([]error, o.clients)
		var wg sync.WaitGroup
		for c := range o.clients {
			wg.Go(func() {
				for i := range o.each {
					r := replicas[(c+i)%len(replicas)]
					a, err := r.Do(ctx, http.MethodPost, exec, "", map[string]any{"script": fmt.Sprintf("echo %d.%d >> log", c, i)})
					if err != nil || a.Status != http.StatusOK || !a.Committed {
						errs[c] = fmt.Errorf("line %d.%d at %s: %+v, %w", c, i, r.Name, a, err)
						return
					}
				}
			})
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
		took := time.Since(began)
		first := ""
		for _, r := range replicas {
			a, err := r.Do(ctx, http.MethodPost, exec, "", map[string]any{"script": "cat log", "readOnly": true})
			if err != nil || a.Status != http.StatusOK {
				return fmt.Errorf("%s: %+v, %w", r.Name, a, err)
			}
			if first == "" {
				first = a.Stdout
			}
			if a.Stdout != first {
				return fmt.Errorf("%s and %s show different files", r.Name, replicas[0].Name)
			}
		}
		if err := inOrder(first, o.clients, o.each); err != nil {
			return err
		}
		fmt.Printf("%d clients, %d lines over %d gateways in %v: each once and in its client's order\n", o.clients,
			o.clients*o.each, len(replicas), took.Round(time.Millisecond))
		return nil
	})
}

// inOrder checks that each client's lines are there once, one after the other.
func inOrder(text string, clients, each int) error {
	next := make([]int, clients)
	for line := range strings.Lines(text) {
		var c, i int
		if n, err := fmt.Sscanf(line, "%d.%d\n", &c, &i); err != nil || n != 2 || c < 0 || c >= clients {
			return fmt.Errorf("line %q", line)
		}
		if i != next[c] {
			return fmt.Errorf("line %d of client %d comes where its line %d should be", i, c, next[c])
		}
		next[c]++
	}
	for c, n := range next {
		if n != each {
			return fmt.Errorf("client %d has %d lines, not %d", c, n, each)
		}
	}
	return nil
}
