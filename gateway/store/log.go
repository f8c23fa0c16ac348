package store

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgbox/pgbox/sqlcgen"
)

// LoggedExec is the audit row of a run that committed nothing.
type LoggedExec struct {
	Exec
	Sandbox uuid.UUID
	Version int64 // that the run saw; -1: it did not begin
}

// LogExecs writes audit rows, of any sandboxes, in one statement. Rows that are there already (by their ID) are left
// alone, so a batch may be sent again.
func (s *Store) LogExecs(ctx context.Context, execs []LoggedExec) error {
	rows := make([]execRow, len(execs))
	for i := range execs {
		rows[i] = execs[i].row()
		rows[i].Sandbox = &execs[i].Sandbox
		if execs[i].Version >= 0 {
			rows[i].Version = &execs[i].Version
		}
	}
	data, err := json.Marshal(rows)
	if err != nil {
		return err
	}
	return s.read(ctx, "log_execs", func(ctx context.Context, c *pgxpool.Conn) error {
		_, err := sqlcgen.New(c).LogExecs(ctx, data)
		return err
	})
}
