package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMemoryLimit(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"unknown": {nil, 0},
		"the machine": {map[string]string{"proc/meminfo": "MemTotal:       2048 kB\nMemFree: 1 kB\n",
			"sys/fs/cgroup/memory.max": "max\n"}, 2048 << 10},
		"a container": {map[string]string{"proc/meminfo": "MemTotal:       2048 kB\n",
			"sys/fs/cgroup/memory.max": "1048576\n"}, 1 << 20},
		"an older container": {map[string]string{"proc/meminfo": "MemTotal: 2048 kB\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "4096\n"}, 4096},
		"a larger limit": {map[string]string{"proc/meminfo": "MemTotal: 2048 kB\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 2048 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir() + "/"
			for f, text := range c.files {
				if err := os.MkdirAll(filepath.Dir(root+f), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(root+f, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if got := memoryLimit(root); got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
		})
	}
}

// TestMemoryGoesBack: once when scripts have ended, not while one runs, and not again for nothing.
func TestMemoryGoesBack(t *testing.T) {
	var s scavenger
	freed := 0
	look := func(running bool, held int64) { s.look(running, held, func() { freed++ }) }
	look(true, 8<<30)
	look(true, 8<<30)
	look(false, 8<<30)
	if freed != 0 {
		t.Fatal("freed while scripts ran, or at once")
	}
	look(false, 8<<30)
	if freed != 1 {
		t.Fatalf("freed %d times after the last script", freed)
	}
	look(false, s.kept)
	look(false, s.kept+worthwhile/2)
	if freed != 1 {
		t.Error("freed what is not worth it")
	}
	look(false, s.kept+2*worthwhile)
	if freed != 2 {
		t.Error("not freed again")
	}
}
