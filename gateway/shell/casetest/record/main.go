// Command record runs shell cases under the real bash and writes what it does into the case files. With
// -check it only compares and exits 1 when something differs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"sync"

	"github.com/pgbox/pgbox/gateway/shell/casetest"
	"github.com/pgbox/pgbox/gateway/shell/command"
)

func main() {
	check := flag.Bool("check", false, "compare with the recorded results instead of writing them")
	missing := flag.Bool("missing", false, "record only the cases that have no result yet")
	flag.Parse()
	status := 0
	for _, f := range flag.Args() {
		if err := file(f, *check, *missing); err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = 1
		}
	}
	os.Exit(status)
}

var base = sync.OnceValues(func() (*casetest.Base, error) { return casetest.NewBase(command.All()) })

// pgbox runs a case in a sandbox.
func pgbox(c casetest.Case) (casetest.Result, error) {
	b, err := base()
	if err != nil {
		return casetest.Result{}, err
	}
	r := b.Run(context.Background(), c)
	return r, r.Err
}

func file(name string, check, missing bool) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	cases, err := casetest.Parse(string(data))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, 2)
	errs := make([]error, len(cases))
	for i := range cases {
		c := &cases[i]
		if missing && c.HasOut {
			continue
		}
		wg.Add(1)
		slots <- struct{}{}
		go func() {
			defer wg.Done()
			defer func() { <-slots }()
			got, err := casetest.Oracle(context.Background(), *c)
			if err != nil {
				errs[i] = fmt.Errorf("%s:%d: %s: %w", name, c.Line, c.Name, err)
				return
			}
			if check {
				if d := casetest.Diff(*c, got); d != "" {
					errs[i] = fmt.Errorf("%s:%d: %s\n%s", name, c.Line, c.Name, d)
				}
				return
			}
			c.Stdout, c.Exit, c.HasOut = got.Stdout, got.Exit, true
			if c.HasStderr {
				c.Stderr = got.Stderr
			}
			if c.Ours != nil {
				ours, err := pgbox(*c)
				if err != nil {
					errs[i] = fmt.Errorf("%s:%d: %s: %w", name, c.Line, c.Name, err)
					return
				}
				c.Ours = &ours
			}
		}()
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil || check {
		return err
	}
	return os.WriteFile(name, []byte(casetest.Format(cases)), 0o644)
}
