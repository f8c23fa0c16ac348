// Package machinetest gives tests machines.
package machinetest

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/pgbox/pgbox/gateway/confine"
	"github.com/pgbox/pgbox/gateway/machine"
)

// Entry is the first call of a TestMain: the test's executable is what runs the machines, too, where PGBOX_BINARY names
// no other.
func Entry() {
	ours, err := machine.Entry(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if ours {
		os.Exit(0)
	}
}

// Pool is a pool that ends with the test. The programs are fetched when they are missing.
func Pool(t testing.TB, cfg machine.Config) *machine.Pool {
	t.Helper()
	cfg.Sandbox, cfg.Executable = cmp.Or(cfg.Sandbox, confine.Auto), os.Getenv("PGBOX_BINARY")
	cfg.Dir = Dir(t, cfg.Executable)
	for _, a := range machine.Assets {
		cfg.Programs = append(cfg.Programs, a.Name)
	}
	pool, err := machine.NewPool(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// Dir is the directory of the programs, all of them installed by an executable; "" is that of the test.
func Dir(t testing.TB, executable string) string {
	t.Helper()
	dir := cmp.Or(os.Getenv("PGBOX_RUNTIMES"), machine.DefaultDir())
	install := func() error { return machine.Install(t.Context(), dir) }
	if executable != "" {
		install = func() error {
			cmd := exec.CommandContext(t.Context(), executable, "runtimes", "install")
			cmd.Env = append(os.Environ(), "PGBOX_RUNTIMES="+dir)
			cmd.Stderr = os.Stderr
			return cmd.Run()
		}
	}
	if err := install(); err != nil {
		t.Fatal(err)
	}
	return dir
}
