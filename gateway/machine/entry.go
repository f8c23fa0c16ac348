package machine

import (
	"context"
	"errors"

	"github.com/pgbox/pgbox/gateway/confine"
)

// The first argument of this executable when it is one of ours; nobody types them. The others are how to confine
// itself, the directory of the programs, and, of a machine, the name of its program.
const (
	nurseArg   = "start-machines"
	machineArg = "machine"
)

// Entry is the first thing that main calls: args are the process's arguments without its name. When they say that this
// process is a nurse or a machine, that is what it is until it ends, and ours is true.
func Entry(args []string) (ours bool, err error) {
	switch {
	case len(args) == 3 && args[0] == nurseArg:
		return true, nurseMain(confine.Mode(args[1]), args[2])
	case len(args) == 4 && args[0] == machineArg:
		return true, machineMain(context.Background(), confine.Mode(args[1]), args[2], args[3])
	}
	return false, nil
}

var errSystem = errors.New("only on Linux")

// large is what the runtime asks about the memory of the machine.
const large = "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size"

func nurseMain(mode confine.Mode, dir string) error {
	n, err := confine.Needs{Read: []string{dir, large}, ReadWrite: []string{"/dev/null"}, Offline: true}.Parent()
	if err != nil {
		return err
	}
	if _, err := confine.Enter(mode, n); err != nil {
		return err
	}
	return nurseLoop(machineArg, string(mode), dir)
}

func machineMain(ctx context.Context, mode confine.Mode, dir, program string) error {
	conn, err := inherited()
	if err != nil {
		return err
	}
	lower()
	a := find(program)
	if a == nil {
		return errors.New("no such program")
	}
	code, err := a.load(dir)
	if err != nil {
		return err
	}
	return work(ctx, conn, code, compiled(dir), func() error {
		_, err := confine.Enter(mode, confine.Needs{Offline: true})
		return err
	})
}
