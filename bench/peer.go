package main

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// peerVersion is the just-bash that is measured.
const peerVersion = "3.4.2"

//go:embed peer.mjs
var peerSource []byte

// peer is a node process that runs scripts with just-bash.
type peer struct {
	ctx      context.Context
	pkg, dir string
	cmd      *exec.Cmd
	in       io.WriteCloser
	out      *bufio.Scanner
	patience time.Duration
}

// newPeer installs just-bash below .cache, unless it is there, and starts it over the files in dir.
func newPeer(ctx context.Context, dir string) (*peer, error) {
	root, err := filepath.Abs(".cache/just-bash-" + peerVersion)
	if err != nil {
		return nil, err
	}
	p := &peer{ctx: ctx, pkg: filepath.Join(root, "node_modules/just-bash"), dir: dir, patience: 10 * time.Second}
	if _, err := os.Stat(p.pkg); err != nil {
		if err := os.MkdirAll(root, 0o755); err != nil {
			return nil, err
		}
		cmd := exec.CommandContext(ctx, "npm", "install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts",
			"--prefix", root, "-E", "just-bash@"+peerVersion)
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("npm: %w\n%s", err, out)
		}
	}
	return p, p.start()
}

func (p *peer) start() error {
	script := filepath.Join(filepath.Dir(filepath.Dir(p.pkg)), "peer.mjs")
	if err := os.WriteFile(script, peerSource, 0o644); err != nil {
		return err
	}
	p.cmd = exec.CommandContext(p.ctx, "node", "--max-old-space-size=8192", script, p.pkg, p.dir)
	p.cmd.Stderr = io.Discard
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	p.out = bufio.NewScanner(out)
	p.out.Buffer(nil, 4<<20)
	if !p.out.Scan() {
		return errors.Join(errors.New("just-bash did not start"), p.cmd.Wait())
	}
	return nil
}

func (p *peer) stop() {
	if p == nil || p.cmd == nil {
		return
	}
	_ = p.in.Close()
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	p.cmd = nil
}

// compare runs a script and returns ours, the time that pgbox takes, over its time; or why there is no such number.
func (p *peer) compare(text, want string, ours time.Duration) string {
	if p == nil {
		return "-"
	}
	if p.cmd == nil {
		if err := p.start(); err != nil {
			return "-"
		}
	}
	// Twice, the second time warm, unless it is slow anyway.
	var answer struct {
		MS     float64
		Exit   int
		Stdout string
		Stderr string
	}
	for range 2 {
		killed := time.AfterFunc(p.patience, func() { _ = p.cmd.Process.Kill() })
		line, err := json.Marshal(text)
		if err == nil {
			_, err = p.in.Write(append(line, '\n'))
		}
		ok := err == nil && p.out.Scan()
		if !killed.Stop() {
			p.stop()
			return fmt.Sprintf("< %.2g", float64(ours)/float64(p.patience))
		}
		if !ok || json.Unmarshal(p.out.Bytes(), &answer) != nil {
			p.stop()
			return "it crashes"
		}
		switch {
		case answer.Exit != 0:
			return "it fails"
		case answer.Stdout != want:
			return "its answer differs"
		}
		if answer.MS > 1000 {
			break
		}
	}
	return fmt.Sprintf("%.2g", float64(ours)/(answer.MS*float64(time.Millisecond)))
}
