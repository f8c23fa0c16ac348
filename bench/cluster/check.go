package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgbox/pgbox/bench/cluster/load"
	"github.com/pgbox/pgbox/bench/cluster/nemesis"
	"github.com/pgbox/pgbox/bench/cluster/testbed"
	"github.com/pgbox/pgbox/bench/mutate/mutant"
)

// brokenBuilds are those that have to be found.
//
//go:embed broken.txt
var brokenBuilds string

// brokenWithin bounds the time that finding one of them may take.
const brokenWithin = 4 * time.Minute

func check(ctx context.Context, o *options) error {
	if o.seed == 0 {
		o.seed = rand.Uint64N(1_000_000) + 1
	}
	fmt.Printf("seed %d\n", o.seed)
	return withBed(ctx, o, func(b *testbed.Bed) error {
		if o.broken {
			if err := checkBroken(ctx, o, b); err != nil {
				return err
			}
		}
		return checkOnce(ctx, o, b)
	})
}

// clients are the clients of a test bed.
func clients(b *testbed.Bed, o *options, changes int) (*load.Load, error) {
	t, err := token("alice")
	if err != nil {
		return nil, err
	}
	c := load.Config{SQL: b.URL(), Clients: o.clients, Sandboxes: 4, Changes: changes, Seed: o.seed}
	for _, g := range b.Gateways {
		c.Replicas = append(c.Replicas, load.Replica{Name: g.Name, URL: g.URL(), Token: t})
	}
	return load.New(c), nil
}

// checkOnce is one run of clients and faults, with its verdict.
func checkOnce(ctx context.Context, o *options, b *testbed.Bed) error {
	l, err := clients(b, o, 150)
	if err != nil {
		return err
	}
	began := time.Now()
	n := nemesis.New(b, o.seed, lease, func(format string, args ...any) {
		fmt.Printf("%7.2f s  "+format+"\n", append([]any{time.Since(began).Seconds()}, args...)...)
	})
	during, cancel := context.WithTimeout(ctx, o.duration)
	defer cancel()
	var wg sync.WaitGroup
	var unmended, idle error
	if !o.calm {
		wg.Go(func() { unmended = n.Run(during) })
	}
	wg.Go(func() { idle = l.Run(during) })
	wg.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := errors.Join(unmended, idle); err != nil {
		return err
	}
	healed := time.Now()
	if err := b.Ready(ctx, time.Minute); err != nil {
		return fmt.Errorf("after the last fault: %w", err)
	}
	fmt.Printf("all gateways are ready %v after the last fault\n", time.Since(healed).Round(time.Millisecond))
	l.Finish(ctx)
	found := l.Found()
	same, err := l.Compare(ctx)
	if err != nil {
		return err
	}
	found = append(found, same...)
	faults, err := fsck(ctx, b)
	if err != nil {
		return err
	}
	found = append(found, faults...)
	counts, applied := l.Counts()
	fmt.Printf("\nfaults\n  %s\nrequests\n  %s\n", strings.Join(n.Counts(), "\n  "), strings.Join(counts, "\n  "))
	fmt.Printf("%d sandboxes, %d requests answered in %v\n", len(l.Sandboxes()), applied, o.duration)
	if applied < int(o.duration.Seconds()) {
		found = append(found, fmt.Sprintf("only %d requests succeeded: nothing was checked", applied))
	}
	return verdict(found)
}

func verdict(found []string) error {
	if len(found) == 0 {
		fmt.Println("nothing was found")
		return nil
	}
	for _, f := range found {
		fmt.Println("FOUND", f)
	}
	return fmt.Errorf("%d violations", len(found))
}

// fsck looks for broken invariants in all sandboxes.
func fsck(ctx context.Context, b *testbed.Bed) (found []string, err error) {
	err = b.Admin(ctx, func(c *pgx.Conn) error {
		rows, err := c.Query(ctx, "SELECT 'fsck: ' || to_jsonb(f)::text FROM fs.fsck_all() f")
		if err != nil {
			return err
		}
		found, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	return found, err
}

// checkBroken fails unless each of the broken builds is found out.
func checkBroken(ctx context.Context, o *options, b *testbed.Bed) error {
	good := b.Binary()
	broken, err := mutant.Parse(brokenBuilds)
	if err != nil {
		return err
	}
	for _, m := range broken {
		dir, err := os.MkdirTemp("", "pgbox-cluster-bin-")
		if err != nil {
			return err
		}
		err = func() error {
			defer func() { _ = os.RemoveAll(dir) }()
			overlay, err := m.Overlay(dir)
			if err != nil {
				return err
			}
			bin, err := build(ctx, dir, "-overlay", overlay)
			if err != nil {
				return fmt.Errorf("go build: %w", err)
			}
			if err := b.Use(ctx, bin); err != nil {
				return err
			}
			return findOut(ctx, o, b, m.Name)
		}()
		if err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
	}
	if err := b.Use(ctx, good); err != nil {
		return err
	}
	// What they have damaged stays damaged, and is not for fsck to find once more.
	return b.Admin(ctx, func(c *pgx.Conn) error {
		_, err := c.Exec(ctx, "UPDATE pgbox.sandbox SET deleted_at = now() WHERE deleted_at IS NULL")
		return err
	})
}

// findOut runs clients, without faults but those of the build, until something is found.
func findOut(ctx context.Context, o *options, b *testbed.Bed, name string) error {
	l, err := clients(b, o, 30)
	if err != nil {
		return err
	}
	began := time.Now()
	during, cancel := context.WithTimeout(ctx, brokenWithin)
	defer cancel()
	var idle error
	var wg sync.WaitGroup
	wg.Go(func() { idle = l.Run(during) })
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for during.Err() == nil && len(l.Found()) == 0 {
		select {
		case <-tick.C:
		case <-during.Done():
		}
	}
	took := time.Since(began)
	cancel()
	wg.Wait()
	found := l.Found()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if len(found) == 0 {
		return errors.Join(fmt.Errorf("not found out within %v: the check is worth nothing", brokenWithin), idle)
	}
	fmt.Printf("%s: found out after %v: %s\n", name, took.Round(time.Millisecond), found[0])
	return nil
}
