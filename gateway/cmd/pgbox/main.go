// Command pgbox serves bash sandboxes whose filesystem lives in Postgres, and
// is the command line to a running server.
//
// One file per sub-command. Exit status: 0 success, 1 failure, 2 wrong usage; `pgbox exec`
// passes the script's status through.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/pgbox/pgbox/gateway/keeper"
	"github.com/pgbox/pgbox/gateway/machine"
)

// version is set by the linker.
var version = "development"

// exitStatus is an error that only carries the status to exit with.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

func main() {
	if ours, err := machine.Entry(os.Args[1:]); ours {
		if err != nil {
			fmt.Fprintln(os.Stderr, "pgbox: "+os.Args[1]+": "+err.Error())
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := rootCommand().ExecuteContext(ctx)
	stop()
	var script exitStatus
	var ended *keeper.ExitError
	switch {
	case err == nil:
	case errors.As(err, &ended): // the server has said why
		os.Exit(ended.Status)
	case errors.As(err, &script):
		os.Exit(int(script))
	default:
		fmt.Fprintln(os.Stderr, "pgbox: "+err.Error())
		os.Exit(status(err))
	}
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "pgbox",
		Short:         "Persistent bash sandboxes for AI agents whose filesystem lives in Postgres",
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddGroup(&cobra.Group{ID: "server", Title: "Server:"},
		&cobra.Group{ID: "client", Title: "Client (of a running server):"})
	root.AddCommand(runtimesCommand(), devCommand(), serveCommand(), workerCommand(), migrateCommand(), gcCommand(),
		fsckCommand(), exportCommand(), importCommand(), tokenCommand())
	c := new(client)
	for _, cmd := range []*cobra.Command{
		sandboxCommand(c), execCommand(c), sessionCommand(c), fsCommand(c), ingestCommand(c), imageCommand(c), kvCommand(c),
		forkCommand(c), snapshotCommand(c), restoreCommand(c), undoCommand(c), redoCommand(c), flattenCommand(c),
		diffCommand(c), mergeCommand(c),
		quotaCommand(c), timelineCommand(c), logCommand(c), blameCommand(c), tarCommand(c),
	} {
		cmd.GroupID = "client"
		cmd.PersistentFlags().StringVar(&c.url, "url", "", "server (default $PGBOX_URL, else that of the last pgbox dev)")
		cmd.PersistentFlags().StringVar(&c.token, "token", "",
			"bearer token (default $PGBOX_TOKEN, else that of the last pgbox dev)")
		cmd.PersistentFlags().StringVar(&c.agent, "agent", "",
			"your name in the audit log, beside the token's (default $PGBOX_AGENT)")
		outputFlags(cmd)
		c.complete(cmd)
		root.AddCommand(cmd)
	}
	strict(root)
	return root
}
