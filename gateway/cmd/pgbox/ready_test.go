package main

import (
	"errors"
	"testing"

	"github.com/pgbox/pgbox/sql/migrate"
	"github.com/pgbox/pgbox/sql/sqltest"
)

// TestProbeKeepsItsConnection: checks do not each leave a connection behind; one that was cut is replaced.
func TestProbeKeepsItsConnection(t *testing.T) {
	t.Parallel()
	p := &schemaProbe{url: sqltest.Database(t)}
	defer p.close()
	pid := func() uint32 {
		t.Helper()
		if err := p.check(t.Context()); err != nil {
			t.Fatal(err)
		}
		return p.conn.PgConn().PID()
	}
	first := pid()
	for range 3 {
		if again := pid(); again != first {
			t.Fatalf("backend %d, then %d", first, again)
		}
	}
	if err := p.conn.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if pid() == first {
		t.Error("the connection was closed")
	}
	p.drop()
	p.url = sqltest.EmptyDatabase(t)
	var refused *migrate.SchemaError
	if err := p.check(t.Context()); !errors.As(err, &refused) {
		t.Errorf("an empty database: %v", err)
	}
	if p.conn == nil {
		t.Error("a schema that is refused has cost the connection")
	}
}
