package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// nativePython is the real one: a manager of versions puts scripts of its own into PATH.
const nativePython = "/usr/bin/python3"

// benchPython compares a python3 program in a warm sandbox with the python3 of this machine as a process.
func benchPython(program string) func(ctx context.Context, e *env) (ratio, error) {
	return func(ctx context.Context, e *env) (ratio, error) {
		_, route, err := e.sandbox(ctx)
		if err != nil {
			return ratio{}, err
		}
		out := ""
		ours := timed(func(ctx context.Context) error {
			out, err = e.exec(ctx, route, map[string]any{"script": "python3 -c '" + program + "'", "readOnly": true})
			return err
		})
		theirs := timed(func(ctx context.Context) error {
			got, err := exec.CommandContext(ctx, nativePython, "-c", program).Output()
			if err == nil && string(got) != out {
				return fmt.Errorf("python3 prints %q, pgbox %q", got, out)
			}
			return err
		})
		return compare(ctx, e.times(2, 1), e.times(3, 1), e.times(5, 1), ours, theirs)
	}
}

// benchPythonMemory is what one machine holds for itself when it has run a program, against 12 MiB.
func benchPythonMemory(ctx context.Context, e *env) (ratio, error) {
	if _, err := benchPython("print(1)")(ctx, e); err != nil {
		return ratio{}, err
	}
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return ratio{}, err
	}
	largest := 0
	for _, name := range names {
		args, err := os.ReadFile(name)
		if err != nil || !bytes.HasSuffix(args, []byte("\x00python\x00")) ||
			!bytes.Contains(args, []byte("\x00machine\x00")) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(filepath.Dir(name), "smaps_rollup"))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); len(f) == 3 && f[0] == "Private_Dirty:" {
				kilobytes, err := strconv.Atoi(f[1])
				if err != nil {
					return ratio{}, err
				}
				largest = max(largest, kilobytes)
			}
		}
	}
	if largest == 0 {
		return ratio{}, errors.New("there is no machine")
	}
	r := float64(largest) / (12 << 10)
	return ratio{median: r, lo: r, hi: r, detail: fmt.Sprintf("%d MiB", largest>>10)}, nil
}
