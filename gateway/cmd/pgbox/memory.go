package main

import (
	"context"
	"log/slog"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// idleAfter is how long nothing may have run before memory is given back.
	idleAfter = 2 * time.Second
	// worthwhile is how much there has to be to give back.
	worthwhile = 64 << 20
)

// keepMemory makes the heap respect what the machine or the container has, and gives what scripts have left behind back
// to the system once none of them runs. Go does the latter by itself over minutes, and not at all with garbage that no
// collection has met. running is the number of scripts that run. stop ends it.
func keepMemory(ctx context.Context, running func() int) (stop func()) {
	if limit := memoryLimit("/"); limit > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit / 10 * 9)
		slog.Debug("memory limit", "op", "start", "bytes", limit)
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(idleAfter / 2)
		defer tick.Stop()
		var s scavenger
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			s.look(running() > 0, heapHeld(), debug.FreeOSMemory)
		}
	})
	return func() { cancel(); wg.Wait() }
}

// scavenger decides when memory is given back.
type scavenger struct {
	idle int   // looks in a row that found nothing running
	kept int64 // what the heap held after the last time
}

func (s *scavenger) look(running bool, held int64, free func()) {
	if running {
		s.idle = 0
		return
	}
	if s.idle++; s.idle < 2 || held < s.kept+worthwhile {
		s.kept = min(s.kept, held)
		return
	}
	free()
	s.kept = heapHeld()
}

// heapHeld is what the heap has of the system's memory.
func heapHeld() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/free:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"}}
	metrics.Read(s)
	var sum uint64
	for i := range s {
		sum += s[i].Value.Uint64()
	}
	return int64(sum)
}

// memoryLimit is the least of the limits of the control group and the memory of the machine whose files are below root,
// 0 if neither is known.
func memoryLimit(root string) int64 {
	var least int64
	consider := func(n int64, err error) {
		if err == nil && n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	for _, name := range []string{"sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if b, err := os.ReadFile(root + name); err == nil {
			consider(strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64))
		}
	}
	if b, err := os.ReadFile(root + "proc/meminfo"); err == nil {
		if _, rest, ok := strings.Cut(string(b), "MemTotal:"); ok {
			kB, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
			n, err := strconv.ParseInt(kB, 10, 64)
			consider(n<<10, err)
		}
	}
	return least
}
