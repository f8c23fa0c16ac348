// The bounds of these tests are wall-clock times, and the race detector makes everything ten times slower: they run
// without it.

//go:build !race

package shell_test

import (
	"archive/tar"
	"bytes"
	"context"
	"io"
	"testing"
	"time"

	"github.com/pgbox/pgbox/gateway/shell"
	"github.com/pgbox/pgbox/gateway/shell/casetest"
	"github.com/pgbox/pgbox/gateway/shell/command"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/text/archive"
)

type zeroReader struct{}

func (zeroReader) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// bomb is size zeros, compressed.
func bomb(t *testing.T, f archive.Format, size int64) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := archive.NewWriter(f, &b, 1)
	if err == nil {
		_, err = io.Copy(w, io.LimitReader(zeroReader{}, size))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// tarBomb is a compressed archive of one file of zeros.
func tarBomb(t *testing.T, size int64) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := archive.NewWriter(archive.Gzip, &b, 1)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	err = w.WriteHeader(&tar.Header{Name: "zeros", Size: size, Mode: 0o644})
	if err == nil {
		_, err = io.Copy(w, io.LimitReader(zeroReader{}, size))
	}
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var bombs = []struct {
	name   string
	format archive.Format
	size   int64
	unpack string
}{
	{"gzip", archive.Gzip, 256 << 20, "gzip -dc bomb"},
	{"zstd", archive.Zstd, 1 << 30, "zstd -dc bomb"},
	{"bzip2", archive.Bzip2, 256 << 20, "bzip2 -dc bomb"},
	{"xz", archive.XZ, 64 << 20, "xz -dc bomb"},
	{"tar", archive.Gzip, 256 << 20, "tar xOzf bomb"},
	{"zgrep", archive.Gzip, 256 << 20, "zgrep x bomb"},
}

// withBomb runs a script in a sandbox that has the bomb.
func withBomb(
	t *testing.T, data []byte, l proc.Limits, timeout time.Duration, script string,
) (string, time.Duration, error) {
	t.Helper()
	base, err := casetest.NewBase(command.All())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	ctx, budget := proc.NewBudget(ctx, l)
	defer budget.Close()
	fs := base.Sandbox(ctx)
	if err := fs.WriteFile("/tmp/bomb", data, 0o644); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	start := time.Now()
	_, err = shell.Run(ctx, shell.Config{FS: fs, Commands: command.All(), Budget: budget, Stdout: &capped{w: &out},
		Stderr: &capped{w: &out}}, "cd /tmp; "+script)
	return out.String(), time.Since(start), err
}

// A bomb unpacked into a variable is a matter of live bytes.
func TestDecompressionBombsMeetTheLimits(t *testing.T) {
	for _, c := range bombs[:4] {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := withBomb(t, bomb(t, c.format, c.size), proc.Limits{LiveBytes: 48 << 20}, time.Minute,
				`x=$(`+c.unpack+` | tr '\0' a)`)
			if l, ok := proc.IsLimit(err); !ok || l.Name != "live bytes" {
				t.Fatalf("got %v, want the limit of live bytes", err)
			}
		})
	}
}

func TestDecompressionBombsAreCancelled(t *testing.T) {
	const patience = 50 * time.Millisecond
	for _, c := range bombs {
		t.Run(c.name, func(t *testing.T) {
			data := bomb(t, c.format, c.size)
			if c.name == "tar" {
				data = tarBomb(t, c.size)
			}
			// The machine may be busy: one prompt end of several is enough, a decoder that cannot be interrupted never has one.
			var late time.Duration
			for range attempts {
				_, took, err := withBomb(t, data, proc.Limits{}, patience,
					`for i in 1 2 3 4 5 6 7 8 9; do `+c.unpack+` > /dev/null; done 2>/dev/null`)
				if err == nil {
					late = 0
					continue // before it could be cancelled
				}
				if late = took - patience; late < max(prompt, 4*busyness()) {
					return
				}
			}
			t.Errorf("ended %v after the cancellation", late)
		})
	}
}
