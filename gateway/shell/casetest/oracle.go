package casetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// oracleUser is the name of the user that .ci/install makes for the scripts. It is an odd one, so that a case cannot be
// recorded that holds it and is right for that name only.
const oracleUser = "zoë-oracle"

// unprivileged is who the scripts run as when this process is root: the user made for it or, where there is none,
// nobody.
var unprivileged = sync.OnceValue(func() *syscall.Credential {
	const nobody = 65534
	c := &syscall.Credential{Uid: nobody, Gid: nobody}
	if u, err := user.Lookup(oracleUser); err == nil {
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 == nil && err2 == nil {
			c.Uid, c.Gid = uint32(uid), uint32(gid)
		}
	}
	return c
})

func giveAway(dir string, to *syscall.Credential) error {
	return filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(p, int(to.Uid), int(to.Gid))
	})
}

// oracleTimeout bounds one script of the real tools: some regular expressions take glibc for ever.
const oracleTimeout = 20 * time.Second

// heed has signals that this process was started to ignore, as nohup and a shell's background do, caught: a program
// that is started gets their default then, and scripts that show traps show no others.
var heed = sync.OnceFunc(func() {
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
})

var callsJq = regexp.MustCompile(`\bjq\b`)

// jqFolder has the jq that is the oracle: distributions have older ones.
var jqFolder = sync.OnceValues(func() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		} else if dir == "/" {
			return "", err
		}
	}
	var errs strings.Builder
	cmd := exec.Command(filepath.Join(dir, ".ci", "jq18"))
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("the oracle of jq is not installed, run .ci/install: %w: %s", err, errs.String())
	}
	return strings.TrimSpace(string(out)), nil
})

// Oracle runs a case under the real bash and tools, in an empty directory of its own whose name the result shows as
// [Home]. As root it runs as an unprivileged user: a script must not be able to change the machine.
func Oracle(ctx context.Context, c Case) (Result, error) {
	heed()
	dir, err := os.MkdirTemp("", "case")
	if err != nil {
		return Result{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for _, f := range c.Files {
		p := filepath.Join(dir, f.Path)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			return Result{}, err
		}
		if err := os.WriteFile(p, []byte(f.Content), 0o644); err != nil {
			return Result{}, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, oracleTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", c.Script)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Credential = unprivileged()
		if err := giveAway(dir, unprivileged()); err != nil {
			return Result{}, err
		}
	}
	for k, v := range Env(dir) {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	cmd.Env = append(cmd.Env, "PWD="+dir)
	tools := ""
	if callsJq.MatchString(c.Script) {
		if tools, err = jqFolder(); err != nil {
			return Result{}, err
		}
		cmd.Env = append(cmd.Env, "PATH="+tools+":"+Env(dir)["PATH"])
	}
	if !c.NoStdin {
		cmd.Stdin = strings.NewReader(c.Stdin)
	}
	// Pipes of our own, because whoever opens /dev/stdout again has to own it.
	out, err := newCapture(cmd.SysProcAttr.Credential)
	if err != nil {
		return Result{}, err
	}
	errs, err := newCapture(cmd.SysProcAttr.Credential)
	if err != nil {
		return Result{}, errors.Join(err, out.w.Close())
	}
	cmd.Stdout, cmd.Stderr = out.w, errs.w
	err = cmd.Run()
	// What the script left running keeps the pipes open.
	stop := context.AfterFunc(ctx, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	stdout, stderr := out.wait(), errs.wait()
	stop()
	var ee *exec.ExitError
	if err != nil && !errors.As(err, &ee) {
		return Result{}, err
	}
	status := cmd.ProcessState.ExitCode()
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		status = 128 + int(ws.Signal())
	}
	home := func(s string) string { return strings.ReplaceAll(s, dir, Home) }
	return Result{Stdout: home(stdout), Stderr: home(stderr), Exit: status}, nil
}

// capture collects what a process writes into a pipe.
type capture struct {
	w    *os.File
	done chan string
}

func newCapture(owner *syscall.Credential) (*capture, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	if owner != nil {
		if err := w.Chown(int(owner.Uid), int(owner.Gid)); err != nil {
			return nil, errors.Join(err, r.Close(), w.Close())
		}
	}
	c := &capture{w, make(chan string, 1)}
	go func() {
		var b strings.Builder
		_, _ = io.Copy(&b, r)
		_ = r.Close()
		c.done <- b.String()
	}()
	return c, nil
}

// wait returns everything once the last writer is gone.
func (c *capture) wait() string {
	_ = c.w.Close()
	return <-c.done
}
