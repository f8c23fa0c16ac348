package functions_test

import (
	"errors"
	"fmt"
	"regexp"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/sql/sqltest"
)

type errno struct {
	Name     string
	Number   int32
	SQLState string
	Message  string
}

func errnos(t *testing.T, conn *pgx.Conn) []errno {
	t.Helper()
	rows, err := conn.Query(t.Context(), "SELECT name, errno, sqlstate, message FROM fs.errnos()")
	if err != nil {
		t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[errno])
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// The gateway reads the number out of the SQLSTATE and knows it by the same name; people read the name in the message.
func TestErrnos_areTheGateways(t *testing.T) {
	t.Parallel()
	conn := sqltest.Owner(t)
	for _, e := range errnos(t, conn) {
		known, ok := vfs.FromSQLState(e.SQLState)
		if !ok || known != vfs.Errno(e.Number) || known.Name() != e.Name || known.SQLState() != e.SQLState {
			t.Errorf("%+v is %s of the gateway", e, known.Name())
		}
		_, err := conn.Exec(t.Context(), "SELECT pgbox.raise_errno($1, 'open', '/p')", e.Name)
		pe, ok := errors.AsType[*pgconn.PgError](err)
		if want := fmt.Sprintf(`open "/p": %s: %s`, e.Name, e.Message); !ok || pe.Code != e.SQLState || pe.Message != want {
			t.Errorf("%s raises %v", e.Name, err)
		}
	}
	if _, err := conn.Exec(t.Context(), "SELECT pgbox.raise_errno('ENONE', 'open', NULL)"); code(err) != "P0002" {
		t.Errorf("an errno that does not exist raises %v", err)
	}
}

// Every errno that a function names is in the table, and the table has no others.
func TestErrnos_areThoseRaised(t *testing.T) {
	t.Parallel()
	conn := sqltest.Owner(t)
	all := functions(t, conn)
	named := regexp.MustCompile(`'(E[A-Z0-9]{2,})'`)
	// Functions that the policies call come with the migrations, and raise by themselves.
	raised := regexp.MustCompile(`ERRCODE = '(VF\w{3})'`)
	used := map[string]bool{}
	for _, f := range all {
		if f.Name == "errnos" {
			continue
		}
		for _, m := range named.FindAllStringSubmatch(f.Source, -1) {
			used[m[1]] = true
		}
		for _, m := range raised.FindAllStringSubmatch(f.Source, -1) {
			if e, ok := vfs.FromSQLState(m[1]); ok {
				used[e.Name()] = true
			} else if f.Name != "merge" {
				t.Errorf("%s raises %s", f.Name, m[1])
			}
		}
	}
	for _, e := range errnos(t, conn) {
		if !used[e.Name] {
			t.Errorf("nothing raises %s", e.Name)
		}
		delete(used, e.Name)
	}
	for name := range used {
		t.Errorf("%s is not in fs.errnos()", name)
	}
	for _, f := range all {
		if regexp.MustCompile(`raise_errno\(\s*\d`).MatchString(f.Source) {
			t.Errorf("%s.%s raises a number", f.Schema, f.Name)
		}
	}
}
