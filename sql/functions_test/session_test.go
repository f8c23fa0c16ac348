package functions_test

import (
	"testing"

	"github.com/pgbox/pgbox/sql/sqltest"
	"github.com/pgbox/pgbox/sqlcgen"
)

func TestSession(t *testing.T) {
	u := sqltest.URL(t)
	for role, address := range map[string]string{"postgres": u, "pgbox_gateway": sqltest.GatewayURL(u)} {
		conn := sqltest.Connect(t, address)
		s, err := sqlcgen.New(conn).Session(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if uint32(s.PID) != conn.PgConn().PID() || s.Superuser != (role == "postgres") ||
			s.Superuser == false && s.Role != role {
			t.Errorf("as %s: %+v, the process is %d", role, s, conn.PgConn().PID())
		}
	}
}
