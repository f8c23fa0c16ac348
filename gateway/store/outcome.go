package store

import (
	"errors"
	"fmt"

	"github.com/pgbox/pgbox/gateway/vfs"
)

// Outcome is how a commit ended.
type Outcome int

// The outcomes of a commit.
const (
	// Applied: all of it is in the database.
	Applied Outcome = iota
	// Refused: nothing was applied, and the error says why (EDQUOT, [ErrLocked], [ErrUnavailable] …).
	Refused
	// Stale: nothing was applied, because the sandbox is no longer what the commit was made on. What led to it can be done
	// again on the latest version.
	Stale
	// Unknown: Postgres did not say, and could not be asked afterwards.
	Unknown
)

// OutcomeOf is the outcome of a commit that returned err.
func OutcomeOf(err error) Outcome {
	switch {
	case err == nil:
		return Applied
	case errors.Is(err, ErrUnknown):
		return Unknown
	case errors.Is(err, vfs.ESTALE):
		return Stale
	}
	return Refused
}

func (o Outcome) String() string {
	switch o {
	case Applied:
		return "applied"
	case Refused:
		return "refused"
	case Stale:
		return "stale"
	case Unknown:
		return "unknown"
	}
	return fmt.Sprintf("Outcome(%d)", int(o))
}
