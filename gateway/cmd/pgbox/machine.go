package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/pgbox/pgbox/gateway/config"
	"github.com/pgbox/pgbox/gateway/machine"
)

// runtimesCommand installs the programs that run on machines.
func runtimesCommand() *cobra.Command {
	group := &cobra.Command{
		Use: "runtimes", GroupID: "server", Short: "The interpreters that sandboxes can have (python3)",
		Long: "The interpreters that sandboxes can have (python3), in the directory that PGBOX_RUNTIMES names. A server has those that were there when it started.",
	}
	group.AddCommand(&cobra.Command{
		Use: "install", Short: "Fetch what is missing with npm, check it and compile it for this machine", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := runtimesDir()
			if err != nil {
				return err
			}
			return machine.Install(cmd.Context(), dir)
		},
	}, &cobra.Command{
		Use: "ls", Short: "List the interpreters and whether they are installed", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := runtimesDir()
			if err != nil {
				return err
			}
			for _, a := range machine.Assets {
				state := "installed"
				if err := a.Check(dir); err != nil {
					state = err.Error()
				}
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s\t%s\t%s\n", a.Name, a.Version, state); err != nil {
					return err
				}
			}
			return nil
		},
	})
	return group
}

func runtimesDir() (string, error) {
	cfg, err := config.Load(os.Getenv)
	if err != nil {
		return "", err
	}
	if cfg.Runtimes == "" {
		return "", errors.New("PGBOX_RUNTIMES is not set, and this user has no cache directory")
	}
	return cfg.Runtimes, nil
}

// machines starts what gives scripts their machines, before the server confines itself. states says of each interpreter
// that it is ready, or why it is missing.
func machines(cfg *config.Config) (pool *machine.Pool, states map[string]string, err error) {
	states = map[string]string{}
	var programs []string
	for _, a := range machine.Assets {
		if err := a.Check(cfg.Runtimes); err != nil {
			states[a.Name] = err.Error()
			slog.Info("an interpreter is missing in sandboxes", "op", "serve", "name", a.Name, "why", err)
			continue
		}
		states[a.Name] = "ready"
		programs = append(programs, a.Name)
	}
	if len(programs) == 0 {
		return nil, states, nil
	}
	pool, err = machine.NewPool(machine.Config{Sandbox: cfg.Sandbox, Dir: cfg.Runtimes, Programs: programs})
	return pool, states, err
}
