package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/pgbox/pgbox/gateway/config"
	"github.com/pgbox/pgbox/gateway/store"
)

// sweepBatch is how many rows of a kind go in one transaction: few enough that nobody waits long for their locks.
const sweepBatch = 1000

// keepHouse tidies the database up every so often, together with the other gateways, until the returned function is called; that one waits.
func keepHouse(ctx context.Context, st *store.Store, every time.Duration, keep store.Retention) (stop func()) {
	if every == 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			// By chance, so that gateways that started together do not ask together.
			timer := time.NewTimer(every/2 + rand.N(every/2+1))
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
				return
			}
			swept, err := st.Housekeep(ctx, every, keep, sweepBatch)
			switch {
			case ctx.Err() != nil:
			case err != nil:
				slog.Warn("housekeeping failed, and is tried again", "op", "housekeep", "err", err)
			case swept != store.Swept{}:
				slog.Info("housekeeping", "op", "housekeep", "sandboxes", swept.Sandboxes, "layers", swept.Layers, "blobs", swept.Blobs, "bytes", swept.Bytes,
					"changes", swept.Changes, "execs", swept.Execs)
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

func gcCommand() *cobra.Command {
	var grace time.Duration
	cmd := &cobra.Command{
		Use: "gc", GroupID: "server", Short: "Drop expired sandboxes and delete what nothing refers to and history past its retention, now", Args: cobra.NoArgs,
		Long: "Drop expired sandboxes and delete what nothing refers to and history past HISTORY_RETENTION and JOURNAL_MAX_OPERATIONS, now. A server does this by itself every HOUSEKEEPING_INTERVAL.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if grace < 0 {
				return errors.New("--grace must not be negative")
			}
			cfg, err := config.Load(os.Getenv)
			if err = errors.Join(err, cfg.Require(os.Getenv, "DATABASE_URL")); err != nil {
				return err
			}
			st, err := store.Open(cmd.Context(), store.Config{URL: cfg.DatabaseURL, MaxConns: 2, ExecMode: store.ExecMode(cfg.DatabaseExecMode)})
			if err != nil {
				return err
			}
			defer st.Close()
			if err := checkSchema(cmd.Context(), cfg.DatabaseURL); err != nil {
				return err
			}
			swept, err := st.Housekeep(cmd.Context(), 0, store.Retention{Grace: grace, History: cfg.HistoryRetention, Operations: cfg.JournalMax}, sweepBatch)
			fmt.Printf("%d sandboxes dropped; %d layers and %d blobs of %d bytes deleted; %d operations and %d runs forgotten\n",
				swept.Sandboxes, swept.Layers, swept.Blobs, swept.Bytes, swept.Changes, swept.Execs)
			return err
		},
	}
	cmd.Flags().DurationVar(&grace, "grace", time.Hour, "spare content that something referred to this recently; a script that still reads it fails otherwise")
	return cmd
}
