package store

import (
	"errors"
	"fmt"
	"testing"

	"github.com/pgbox/pgbox/gateway/vfs"
)

func TestOutcomeOf(t *testing.T) {
	for _, c := range []struct {
		err  error
		want Outcome
	}{
		{nil, Applied},
		{fmt.Errorf("apply: %w", vfs.ESTALE), Stale},
		{fmt.Errorf("apply: %w", vfs.EDQUOT), Refused},
		{fmt.Errorf("apply: %w", ErrLocked), Refused},
		{fmt.Errorf("apply: %w: %w", ErrUnavailable, errors.New("refused")), Refused},
		{fmt.Errorf("apply: %w: %w", ErrUnknown, errors.New("reset")), Unknown},
		// The commit was open when it turned out stale: what came in between may have been itself.
		{fmt.Errorf("apply: %w: %w", ErrUnknown, vfs.ESTALE), Unknown},
	} {
		if got := OutcomeOf(c.err); got != c.want {
			t.Errorf("%v: %v, want %v", c.err, got, c.want)
		}
	}
}
