package main

import (
	"context"
	"fmt"
	"time"
)

// benchJournal ingests 10 000 files into a new sandbox with its journal and into one without, by turns.
func benchJournal(ctx context.Context, e *env) (ratio, error) {
	round := 1 << 24
	ingest := func(journal bool) work {
		return func(ctx context.Context) (time.Duration, error) {
			round++
			id, route, err := e.sandbox(ctx)
			if err != nil {
				return 0, err
			}
			if _, err := e.owner.Exec(ctx, "UPDATE pgbox.sandbox SET journal = $2 WHERE id = $1", id, journal); err != nil {
				return 0, err
			}
			body, err := ingestBody(round, e.times(10_000, 200))
			if err != nil {
				return 0, err
			}
			start := time.Now()
			if _, err := e.post(ctx, route+"/ingest-files", body); err != nil {
				return 0, err
			}
			took := time.Since(start)
			var journaled bool
			if err := e.owner.QueryRow(ctx, "SELECT count(*) >= $2 FROM pgbox.change WHERE sandbox_id = $1", id,
				e.times(10_000, 200)).Scan(&journaled); err != nil {
				return 0, err
			}
			if journaled != journal {
				return 0, fmt.Errorf("journal %v, operations in it: %v", journal, journaled)
			}
			return took, nil
		}
	}
	return compare(ctx, e.times(1, 0), e.times(7, 1), 1, ingest(true), ingest(false))
}
