package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/pgbox/pgbox/gateway/config"
	"github.com/pgbox/pgbox/gateway/store"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// maintain opens the database for a command that needs no server.
func maintain(ctx context.Context) (*config.Config, *store.Store, error) {
	cfg, err := config.Load(os.Getenv)
	if err = errors.Join(err, cfg.Require(os.Getenv, "DATABASE_URL")); err != nil {
		return cfg, nil, err
	}
	st, err := store.Open(ctx, store.Config{URL: string(cfg.DatabaseURL), MaxConns: 2,
		ExecMode: store.ExecMode(cfg.DatabaseExecMode)})
	if err != nil {
		return cfg, nil, err
	}
	if err := checkSchema(ctx, string(cfg.DatabaseURL)); err != nil {
		st.Close()
		return cfg, nil, err
	}
	return cfg, st, nil
}

// keepChecking looks for broken invariants every so often, one of all gateways, and says what it found.
func keepChecking(ctx context.Context, st *store.Store, every time.Duration) (stop func()) {
	return regularly(ctx, every, func(ctx context.Context) {
		faults, err := st.FsckAll(ctx, every)
		if err != nil && ctx.Err() == nil {
			slog.Warn("the check failed, and is tried again", "op", "fsck", "err", err)
		}
		for i := range faults {
			f := &faults[i]
			slog.Error("a broken invariant; see pgbox fsck --help", "op", "fsck", "sandbox", f.Sandbox, "check", f.Check, "ino",
				f.Ino, "detail", f.Detail)
		}
	})
}

func fsckCommand() *cobra.Command {
	var mend bool
	cmd := &cobra.Command{
		Use: "fsck [ID]", GroupID: "server", Short: "Check every invariant of a sandbox, or of all",
		Args: cobra.MaximumNArgs(1),
		Long: `Check every invariant of a sandbox, or of all of them, their snapshots and the images, contents included. Prints one line for each that is broken and
exits with status 1 when some are (left). It waits for nobody and nobody waits for it.

With --repair it mends what can be mended without losing anything: counters, link counts, names and chunks of nothing; what has lost its name gets one in
/lost+found. Lost or corrupt content, circles of directories and missing layers are left: restore a snapshot.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			_, st, err := maintain(cmd.Context())
			if err != nil {
				return err
			}
			defer st.Close()
			check := func() ([]store.Fault, error) { return st.FsckAll(cmd.Context(), 0) }
			if len(args) == 1 {
				id, err := uuid.Parse(args[0])
				if err != nil {
					return fmt.Errorf("not a sandbox id: %s", args[0])
				}
				check = func() ([]store.Fault, error) {
					faults, err := st.Fsck(cmd.Context(), id)
					if errors.Is(err, vfs.ESRCH) {
						err = fmt.Errorf("no such sandbox: %s", id)
					}
					return faults, err
				}
			}
			faults, err := check()
			if err != nil {
				return err
			}
			if mend && len(faults) > 0 {
				done := map[uuid.UUID]bool{}
				for i := range faults {
					id := faults[i].Sandbox
					if id == uuid.Nil || done[id] {
						continue
					}
					done[id] = true
					mended, err := st.Repair(cmd.Context(), id)
					if err != nil {
						return err
					}
					for k := range mended {
						fmt.Println("mended", line(&mended[k]))
					}
				}
				if faults, err = check(); err != nil {
					return err
				}
			}
			for i := range faults {
				fmt.Println(line(&faults[i]))
			}
			if n := len(faults); n > 0 {
				return fmt.Errorf("%d broken", n)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&mend, "repair", false, "mend what can be mended without loss")
	return cmd
}

// line is a fault for people.
func line(f *store.Fault) string {
	where := "-"
	if f.Sandbox != uuid.Nil {
		where = f.Sandbox.String()
	}
	what := f.Check
	if f.Ino != 0 {
		what += fmt.Sprint(" inode ", f.Ino)
	}
	return where + " " + what + ": " + f.Detail
}
