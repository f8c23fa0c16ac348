package functions_test

import (
	"testing"
	"time"

	"github.com/pgbox/pgbox/sql/sqltest"
	"github.com/pgbox/pgbox/sqlcgen"
)

func TestHousekeep(t *testing.T) {
	t.Parallel()
	q, u, id := gcDatabase(t)
	keep := func(every time.Duration, limit int32) sqlcgen.HousekeepRow {
		t.Helper()
		return must[sqlcgen.HousekeepRow](t)(q.Housekeep(t.Context(),
			sqlcgen.HousekeepParams{Every: every, Grace: 0, MaxRows: limit}))
	}
	for _, name := range []string{"a", "b", "c"} {
		ino := write(t, q, id, name, "content of "+name)
		d := begin(t, q, id)
		d.remove(1, name, ino, 12)
		d.apply(t, q)
	}
	past := time.Now().Add(-time.Minute)
	create(t, q, sqlcgen.CreateSandboxParams{Name: "expired", ExpiresAt: &past})

	// A full batch is not the end: another is due at once, whatever the interval.
	if r := keep(time.Hour, 2); r != (sqlcgen.HousekeepRow{Due: true, More: true, Sandboxes: 1, Layers: 0, Blobs: 2,
		Bytes: 24}) {
		t.Errorf("the first batch: %+v", r)
	}
	if r := keep(time.Hour, 2); r != (sqlcgen.HousekeepRow{Due: true, Blobs: 1, Bytes: 12}) {
		t.Errorf("the second batch: %+v", r)
	}
	if r := keep(time.Hour, 2); r != (sqlcgen.HousekeepRow{}) {
		t.Errorf("within the interval: %+v", r)
	}
	if r := keep(0, 2); r != (sqlcgen.HousekeepRow{Due: true}) {
		t.Errorf("after it: %+v", r)
	}

	// Two at once: the second does not wait, and does nothing.
	admin := sqltest.Connect(t, u)
	tx, err := admin.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }()
	if _, err := tx.Exec(t.Context(), "SELECT fs.housekeep()"); err != nil {
		t.Fatal(err)
	}
	if r := keep(0, 2); r.Due {
		t.Errorf("while another is at it: %+v", r)
	}
}
