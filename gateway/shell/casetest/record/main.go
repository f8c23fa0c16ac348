// Command record runs shell cases under the real bash and writes what it does into the case files. With
// -check it only compares and exits 1 when something differs.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/casetest"
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
			got, err := run(*c)
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
		}()
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil || check {
		return err
	}
	return os.WriteFile(name, []byte(casetest.Format(cases)), 0o644)
}

// nobody is the user and group that the scripts run as when the recorder is root.
const nobody = 65534

func giveAway(dir string) error {
	return filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(p, nobody, nobody)
	})
}

func run(c casetest.Case) (casetest.Result, error) {
	dir, err := os.MkdirTemp("", "case")
	if err != nil {
		return casetest.Result{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for _, f := range c.Files {
		p := filepath.Join(dir, f.Path)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			return casetest.Result{}, err
		}
		if err := os.WriteFile(p, []byte(f.Content), 0o644); err != nil {
			return casetest.Result{}, err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", c.Script)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if os.Geteuid() == 0 {
		// A script must not be able to change the machine: the real date sets its clock.
		if err := giveAway(dir); err != nil {
			return casetest.Result{}, err
		}
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	for k, v := range casetest.Env(dir) {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	cmd.Env = append(cmd.Env, "PWD="+dir)
	cmd.Stdin = strings.NewReader(c.Stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	var ee *exec.ExitError
	if err != nil && !errors.As(err, &ee) {
		return casetest.Result{}, err
	}
	status := cmd.ProcessState.ExitCode()
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		status = 128 + int(ws.Signal())
	}
	home := func(s string) string { return strings.ReplaceAll(s, dir, casetest.Home) }
	return casetest.Result{Stdout: home(out.String()), Stderr: home(errs.String()), Exit: status}, nil
}
