package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func benchGrep133(ctx context.Context, e *env) (ratio, error)  { return grep(ctx, e, 133) }
func benchGrep1000(ctx context.Context, e *env) (ratio, error) { return grep(ctx, e, 1000) }

// grep compares grep -r in a warm sandbox with the real one as a process on tmpfs.
func grep(ctx context.Context, e *env, files int) (ratio, error) {
	_, route, err := e.sandbox(ctx)
	if err != nil {
		return ratio{}, err
	}
	tmpfs, err := os.MkdirTemp("/dev/shm", "pgbox-bench-")
	if err != nil {
		return ratio{}, err
	}
	defer func() { _ = os.RemoveAll(tmpfs) }()
	in := map[string]string{}
	for i := range files {
		name, text := fmt.Sprintf("src/p%d/file%d.go", i%17, i), sourceText(i, 4096)
		in[name] = base64.StdEncoding.EncodeToString([]byte(text))
		p := filepath.Join(tmpfs, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			return ratio{}, err
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			return ratio{}, err
		}
	}
	body, err := json.Marshal(map[string]any{"files": in})
	if err != nil {
		return ratio{}, err
	}
	if _, err := e.post(ctx, route+"/ingest-files", body); err != nil {
		return ratio{}, err
	}
	lines := 0
	ours := timed(func(ctx context.Context) error {
		out, err := e.exec(ctx, route, map[string]any{"script": "grep -rn needle src", "readOnly": true})
		lines = strings.Count(out, "\n")
		return err
	})
	theirs := timed(func(ctx context.Context) error {
		cmd := exec.CommandContext(ctx, "grep", "-rn", "needle", "src")
		cmd.Dir = tmpfs
		out, err := cmd.Output()
		if n := strings.Count(string(out), "\n"); err == nil && n != lines {
			return fmt.Errorf("grep finds %d lines, pgbox %d", n, lines)
		}
		return err
	})
	return compare(ctx, e.times(20, 2), e.times(9, 1), e.times(50, 3), ours, theirs)
}
