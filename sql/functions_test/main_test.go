// Package functions_test calls the functions of schema fs directly, as the
// gateway's role does.
package functions_test

import (
	"testing"

	"github.com/pgbox/pgbox/sql/sqltest"
)

func TestMain(m *testing.M) { sqltest.Main(m) }
