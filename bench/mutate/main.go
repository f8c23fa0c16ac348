// Mutate shows that the tests notice. Each entry of mutants.txt takes one thing out of the product or turns it round, by an overlay of the
// build that leaves the checkout alone, and names the tests that have to fail with it. It exits with 1 when one of them passes.
//
//	go run ./bench/mutate             all of them (half an hour)
//	go run ./bench/mutate kv snapshot those whose names hold one of the words
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

//go:embed mutants.txt
var table string

// mutant is one change and the tests that have to notice it.
type mutant struct {
	name     string
	file     string // from the root of the module
	old, new string // old stands in the file once
	pkg, run string // go test pkg -run run
}

// parse reads the table: paragraphs of a line "name", and the lines file, old, new, test, each "key: value". A value
// in which lines are broken has \n.
func parse(table string) ([]mutant, error) {
	var out []mutant
	for p := range strings.SplitSeq(table, "\n\n") {
		var m mutant
		for line := range strings.Lines(p) {
			line = strings.TrimRight(line, "\n")
			if line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			key, value, ok := strings.Cut(line, ": ")
			if !ok && !strings.HasSuffix(line, ":") {
				return nil, fmt.Errorf("mutants.txt: no key in %q", line)
			}
			value = strings.ReplaceAll(value, `\n`, "\n")
			switch strings.TrimSuffix(key, ":") {
			case "name":
				m.name = value
			case "file":
				m.file = value
			case "old":
				m.old = value
			case "new":
				m.new = value
			case "test":
				m.pkg, m.run, _ = strings.Cut(value, " ")
			default:
				return nil, fmt.Errorf("mutants.txt: unknown key %q", key)
			}
		}
		if m == (mutant{}) {
			continue
		}
		if m.name == "" || m.file == "" || m.old == "" || m.pkg == "" || m.run == "" {
			return nil, fmt.Errorf("mutants.txt: %q is not complete", p)
		}
		out = append(out, m)
	}
	return out, nil
}

// apply returns what the file of m holds with the change.
func (m mutant) apply() (string, error) {
	b, err := os.ReadFile(m.file)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(b), m.old); n != 1 {
		return "", fmt.Errorf("%s: %q stands in %s %d times, not once: mend mutants.txt", m.name, m.old, m.file, n)
	}
	return strings.Replace(string(b), m.old, m.new, 1), nil
}

// noticed runs the tests with the change and reports whether one of them failed.
func (m mutant) noticed(ctx context.Context, dir string) (bool, error) {
	text, err := m.apply()
	if err != nil {
		return false, err
	}
	wd, err := os.Getwd()
	if err != nil {
		return false, err
	}
	changed := filepath.Join(dir, "changed"+filepath.Ext(m.file))
	if err := os.WriteFile(changed, []byte(text), 0o600); err != nil {
		return false, err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(wd, m.file): changed}})
	if err != nil {
		return false, err
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		return false, err
	}
	if out, err := exec.CommandContext(ctx, "go", "test", "-overlay", list, "-run", "^$", m.pkg).CombinedOutput(); err != nil {
		return false, fmt.Errorf("%s does not build: %s", m.name, out)
	}
	test := exec.CommandContext(ctx, "go", "test", "-count=1", "-timeout", "5m", "-run", m.run, m.pkg)
	// Tests of processes build the binary themselves: it has to be the changed one.
	test.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+list, "PGBOX_BINARY=")
	out, err := test.CombinedOutput()
	if strings.Contains(string(out), "no tests to run") {
		return false, fmt.Errorf("%s: no test is called %s in %s", m.name, m.run, m.pkg)
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
	all, err := parse(table)
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
		if !wanted(m.name) {
			continue
		}
		start := time.Now()
		ok, err := m.noticed(ctx, dir)
		if err != nil {
			return err
		}
		verdict := "noticed "
		if !ok {
			verdict = "SURVIVED"
			survived++
		}
		fmt.Printf("%s %6.1f s  %s\n", verdict, time.Since(start).Seconds(), m.name)
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
