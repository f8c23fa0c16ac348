package functions_test

import (
	"fmt"
	"slices"
	"testing"
)

func TestChangesSince(t *testing.T) {
	t.Parallel()
	s := newScope(t)
	before := s.version()
	s.must("SELECT fs.write_file('/a', 'x')")
	s.must("SELECT fs.mkdir('/d/e', p_parents => true)")
	s.must("SELECT fs.snapshot($1, 'no operation on a file')", s.id)
	s.must("SELECT fs.mv('/a', '/d/e/a')")
	const sql = "SELECT c.version - $2 || '.' || c.seq || ' ' || c.op || ' ' || c.path || coalesce(' ' || c.path_to, '') FROM fs.changes_since($1, $3, $4, $5) c"
	all := list[string](s, sql, s.id, before, before, 0, 100)
	if len(all) < 4 || !slices.Contains(all, "1.0 create /a") && !slices.Contains(all, "1.0 write /a") {
		t.Fatalf("%q", all)
	}
	// From each place on, and page by page, it is the rest of the same list.
	for i, c := range all {
		var version int64
		var seq int
		if _, err := fmt.Sscanf(c, "%d.%d", &version, &seq); err != nil {
			t.Fatal(err)
		}
		if rest := list[string](s, sql, s.id, before, before+version, seq, 100); !slices.Equal(rest, all[i+1:]) {
			t.Errorf("after %q: %q", c, rest)
		}
		if next := list[string](s, sql, s.id, before, before+version, seq, 1); i+1 < len(all) &&
			!slices.Equal(next, all[i+1:i+2]) {
			t.Errorf("one after %q: %q", c, next)
		}
	}
	lists(s, nil, "SELECT c::text FROM fs.changes_since($1, $2, 0, 100) c", s.id, s.version())
}
