package sqltest_test

import (
	"context"
	"testing"

	"github.com/pgbox/pgbox/sql/sqltest"
)

func TestMain(m *testing.M) { sqltest.Main(m) }

func TestSandbox_isUsableInTheGatewaysRole(t *testing.T) {
	pool := sqltest.Pool(t)
	id := sqltest.Sandbox(t, pool)
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	var role string
	if err := tx.QueryRow(t.Context(), "SELECT current_user FROM fs.use($1)", id).Scan(&role); err != nil ||
		role != "pgbox_gateway" {
		t.Fatalf("role %q, err %v", role, err)
	}
}
