package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/pgbox/pgbox/bench/cluster/testbed"
	"github.com/pgbox/pgbox/gateway/auth"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

// lease is that of the locks. It is short, so that gateways can be frozen past it.
const lease = 2 * time.Second

// options are the flags of all commands.
type options struct {
	gateways int
	keep     bool
	duration time.Duration
	seed     uint64
	clients  int
	calm     bool
	broken   bool
	each     int
}

func run(ctx context.Context, args []string) error {
	command := "up"
	if len(args) > 0 && args[0][0] != '-' {
		command, args = args[0], args[1:]
	}
	var o options
	flags := flag.NewFlagSet("cluster", flag.ContinueOnError)
	flags.IntVar(&o.gateways, "gateways", 3, "how many")
	flags.BoolVar(&o.keep, "keep", false, "leave the folder with logs and data behind")
	flags.DurationVar(&o.duration, "duration", time.Minute, "of the faults")
	flags.Uint64Var(&o.seed, "seed", 0, "of what is done and broken; 0 chooses one")
	flags.IntVar(&o.clients, "clients", 16, "at work at once")
	flags.BoolVar(&o.calm, "calm", false, "check without faults")
	flags.BoolVar(&o.broken, "broken", true, "check first that builds that are broken on purpose are found")
	flags.IntVar(&o.each, "each", 1000, "lines that each client appends")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch command {
	case "up":
		return up(ctx, &o)
	case "check":
		return check(ctx, &o)
	case "append":
		return appendLines(ctx, &o)
	}
	return fmt.Errorf("unknown command %q", command)
}

// build makes the gateway's binary.
func build(ctx context.Context, dir string, flags ...string) (string, error) {
	bin := filepath.Join(dir, "pgbox")
	cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{"build"}, flags,
		[]string{"-o", bin, "github.com/pgbox/pgbox/gateway/cmd/pgbox"})...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	return bin, cmd.Run()
}

// withBed runs fn over a test bed of the binary that $PGBOX_BINARY names, or of one that is built.
func withBed(ctx context.Context, o *options, fn func(b *testbed.Bed) error) error {
	bin := os.Getenv("PGBOX_BINARY")
	if bin == "" {
		dir, err := os.MkdirTemp("", "pgbox-cluster-bin-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		if bin, err = build(ctx, dir); err != nil {
			return fmt.Errorf("go build: %w", err)
		}
	}
	began := time.Now()
	b, err := testbed.Start(ctx, testbed.Config{Binary: bin, Gateways: o.gateways, Lease: lease, Keep: o.keep})
	if err != nil {
		return err
	}
	defer b.Stop()
	fmt.Printf("the test bed is up after %v, in %s\n", time.Since(began).Round(time.Millisecond), b.Dir)
	return fn(b)
}

// token is one that every gateway of the test bed accepts.
func token(subject string) (string, error) {
	v, err := auth.NewVerifier(testbed.Secret, nil)
	if err != nil {
		return "", err
	}
	t, _, err := v.Issue(subject, "", 0)
	return t, err
}

func up(ctx context.Context, o *options) error {
	err := withBed(ctx, o, func(b *testbed.Bed) error {
		t, err := token("alice")
		if err != nil {
			return err
		}
		fmt.Println()
		for _, g := range b.Gateways {
			fmt.Printf("  %-9s %s\n", g.Name, g.URL())
		}
		fmt.Printf("  %-9s %s\n  %-9s psql '%s'\n\n  links\n", "token", t, "sql", b.URL())
		for _, l := range b.Links() {
			fmt.Printf("    %-34s %s\n", l.Name, l.Addr())
		}
		fmt.Println("\n^C ends all of it")
		<-ctx.Done()
		return nil
	})
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
