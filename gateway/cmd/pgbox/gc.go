package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/spf13/cobra"

	"github.com/pgbox/pgbox/gateway/store"
)

// sweepBatch is how many rows of a kind go in one transaction: few enough that nobody waits long for their locks.
const sweepBatch = 1000

// regularly calls f about as often as every says (0: never), until the returned function is called; that one waits.
func regularly(ctx context.Context, every time.Duration, f func(ctx context.Context)) (stop func()) {
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
			f(ctx)
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// keepHouse tidies the database up every so often, together with the other gateways.
func keepHouse(ctx context.Context, st *store.Store, every time.Duration, keep store.Retention) (stop func()) {
	return regularly(ctx, every, func(ctx context.Context) {
		swept, err := st.Housekeep(ctx, every, keep, sweepBatch)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			slog.Warn("housekeeping failed, and is tried again", "op", "housekeep", "err", err)
		case swept != store.Swept{}:
			slog.Info("housekeeping", "op", "housekeep", "sandboxes", swept.Sandboxes, "layers", swept.Layers, "blobs",
				swept.Blobs, "bytes", swept.Bytes,
				"changes", swept.Changes, "execs", swept.Execs)
		}
	})
}

func gcCommand() *cobra.Command {
	var grace time.Duration
	cmd := &cobra.Command{
		Use: "gc", GroupID: "server",
		Short: "Drop expired sandboxes and delete what nothing refers to and history past its retention, now",
		Args:  cobra.NoArgs,
		Long:  "Drop expired sandboxes and delete what nothing refers to and history past HISTORY_RETENTION and JOURNAL_MAX_OPERATIONS, now. A server does this by itself every HOUSEKEEPING_INTERVAL.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if grace < 0 {
				return errors.New("--grace must not be negative")
			}
			cfg, st, err := maintain(cmd.Context())
			if err != nil {
				return err
			}
			defer st.Close()
			swept, err := st.Housekeep(cmd.Context(), 0, store.Retention{Grace: grace, History: cfg.HistoryRetention,
				Operations: cfg.JournalMax}, sweepBatch)
			fmt.Printf("%d sandboxes dropped; %d layers and %d blobs of %d bytes deleted; %d operations and %d runs forgotten\n",
				swept.Sandboxes, swept.Layers, swept.Blobs, swept.Bytes, swept.Changes, swept.Execs)
			return err
		},
	}
	cmd.Flags().DurationVar(&grace, "grace", time.Hour,
		"spare content that something referred to this recently; a script that still reads it fails otherwise")
	return cmd
}
