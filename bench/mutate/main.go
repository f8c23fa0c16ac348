// Mutate shows that the tests notice. Each entry of mutants.txt takes one thing out of the product or turns it round,
// by an overlay of the build that leaves the checkout alone, and names the tests that have to fail with it. It exits
// with 1 when one of them passes.
//
//	go run ./bench/mutate             all of them (half an hour)
//	go run ./bench/mutate kv snapshot those whose names hold one of the words
package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"time"

	"github.com/pgbox/pgbox/bench/mutate/mutant"
)

//go:embed mutants.txt
var table string

// noticed runs the tests with the change and reports whether one of them failed.
func noticed(ctx context.Context, m *mutant.Mutant, dir string) (bool, error) {
	list, err := m.Overlay(dir)
	if err != nil {
		return false, err
	}
	if out, err := exec.CommandContext(ctx, "go", "test", "-overlay", list, "-run", "^$",
		m.Pkg).CombinedOutput(); err != nil {
		return false, fmt.Errorf("%s does not build: %s", m.Name, out)
	}
	test := exec.CommandContext(ctx, "go", "test", "-count=1", "-timeout", "5m", "-run", m.Run, m.Pkg)
	// Tests of processes build the binary themselves: it has to be the changed one.
	test.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+list, "PGBOX_BINARY=")
	out, err := test.CombinedOutput()
	if strings.Contains(string(out), "no tests to run") {
		return false, fmt.Errorf("%s: no test is called %s in %s", m.Name, m.Run, m.Pkg)
	}
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		return false, err
	}
	return err != nil, ctx.Err()
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	all, err := mutant.Parse(table)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	survived := 0
	for _, m := range all {
		if !wanted(m.Name) {
			continue
		}
		if m.Pkg == "" || m.Run == "" {
			return fmt.Errorf("%s: no test", m.Name)
		}
		start := time.Now()
		ok, err := noticed(ctx, &m, dir)
		if err != nil {
			return err
		}
		verdict := "noticed "
		if !ok {
			verdict = "SURVIVED"
			survived++
		}
		fmt.Printf("%s %6.1f s  %s\n", verdict, time.Since(start).Seconds(), m.Name)
	}
	if survived > 0 {
		return fmt.Errorf("%d survived", survived)
	}
	return nil
}

func wanted(name string) bool {
	for _, word := range os.Args[1:] {
		if strings.Contains(name, word) {
			return true
		}
	}
	return len(os.Args) == 1
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}
