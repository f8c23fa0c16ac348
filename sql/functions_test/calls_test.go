package functions_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pgbox/pgbox/sql/sqltest"
)

// fs.cp and fs.rm of a directory called functions for every file in it, each of which looks up the scope and starts a
// plan: 10 000 files took ten times as long as their rows.
func TestTreeVerbs_callNothingForEachFile(t *testing.T) {
	t.Parallel()
	_, u, id := gcDatabase(t)
	const files = 300
	owner := sqltest.Connect(t, u)
	for _, sql := range []string{"SELECT fs.mkdir('/d')",
		fmt.Sprintf("SELECT fs.write_file('/d/f' || n, 'content') FROM generate_series(1, %d) n", files)} {
		if _, err := owner.Exec(t.Context(), "SELECT fs.use('"+id.String()+"');"+sql); err != nil {
			t.Fatal(err)
		}
	}
	for _, call := range []string{"fs.cp('/d', '/e', true)", "fs.rm('/d', true)", "fs.du('/')", "fs.tree('/')",
		"fs.find('/')", "fs.files"} {
		tx := must[pgx.Tx](t)(owner.Begin(t.Context()))
		var before, calls int
		const count = "SELECT coalesce(sum(calls), 0)::int FROM pg_stat_xact_user_functions"
		if err := tx.QueryRow(t.Context(), count).Scan(&before); err != nil {
			t.Fatal(err)
		}
		for _, sql := range []string{"SET LOCAL track_functions = 'pl'", "SELECT fs.use('" + id.String() + "')",
			"SELECT count(*) FROM " + call} {
			if _, err := tx.Exec(t.Context(), sql); err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
		}
		if err := tx.QueryRow(t.Context(), count).Scan(&calls); err != nil {
			t.Fatal(err)
		}
		calls -= before
		if err := tx.Rollback(context.Background()); err != nil {
			t.Fatal(err)
		}
		if calls < 2 || calls > files/2 {
			t.Errorf("%s makes %d calls for %d files", call, calls, files)
		}
	}
}
