package shell_test

import (
	"bytes"
	"context"
	"fmt"

	"github.com/pgbox/pgbox/gateway/shell"
	"github.com/pgbox/pgbox/gateway/shell/casetest"
	"github.com/pgbox/pgbox/gateway/shell/command"
	"github.com/pgbox/pgbox/gateway/shell/proc"
)

// A script over a tree in memory. What it leaves to the next script is its State.
func Example() {
	commands := command.All()
	base, err := casetest.NewBase(commands)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, budget := proc.NewBudget(context.Background(), proc.Limits{Steps: 1_000_000})
	defer budget.Close()
	var out bytes.Buffer
	res, err := shell.Run(ctx, shell.Config{
		FS: base.Sandbox(ctx), Commands: commands, Budget: budget, Stdout: &out,
	}, `printf 'pear\napple\n' | sort > list; cat list; cd /tmp; false`)
	fmt.Print(out.String())
	fmt.Println("status", res.ExitCode, "in", res.State.Dir, err)
	// Output:
	// apple
	// pear
	// status 1 in /tmp <nil>
}

// A script that uses more than it may is ended; the error names the limit.
func Example_limit() {
	commands := command.All()
	base, err := casetest.NewBase(commands)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, budget := proc.NewBudget(context.Background(), proc.Limits{Steps: 10_000})
	defer budget.Close()
	_, err = shell.Run(ctx, shell.Config{FS: base.Sandbox(ctx), Commands: commands, Budget: budget}, `while :; do :; done`)
	fmt.Println(err)
	// Output: limit exceeded: steps (max 10000)
}
