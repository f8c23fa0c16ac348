package replication_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/pgbox/pgbox/sql/sqltest"
)

func TestMain(m *testing.M) { sqltest.Main(m) }

// noLeak checks that a test leaves no goroutine of its own behind.
func noLeak(t *testing.T) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
}
