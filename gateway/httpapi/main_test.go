package httpapi

import (
	"testing"

	"github.com/pgbox/pgbox/gateway/sched"
	"github.com/pgbox/pgbox/sql/sqltest"
)

// governor is that of a server: all tests of this process share its processors.
var governor = sched.Start()

func TestMain(m *testing.M) { sqltest.Main(m) }
