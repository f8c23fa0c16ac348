package functions_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pgbox/pgbox/sql/sqltest"
	"github.com/pgbox/pgbox/sqlcgen"
)

const mergeTree = `SELECT coalesce(string_agg(substr(f.path, 4) || CASE f.kind WHEN 4 THEN '/' WHEN 10 THEN '->' || fs.readlink(f.path)
	ELSE '=' || replace(convert_from(fs.read_file(f.path), 'UTF8'), E'\n', '|') END, ' ' ORDER BY f.path COLLATE "C"), '.')
	FROM fs.tree('/w') f WHERE f.path <> '/w'`

// Every situation as `git merge` answers it: clean, or a conflict that leaves everything as it was.
func TestMerge_cases(t *testing.T) {
	t.Parallel()
	for _, c := range sqltest.MergeCases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			q, ours, theirs := sides(t, append([]string{"SELECT fs.mkdir('/w')"}, c.SQL(c.Base)...)...)
			for _, s := range c.SQL(c.Ours) {
				ours.must(s)
			}
			for _, s := range c.SQL(c.Theirs) {
				theirs.must(s)
			}
			before, version := get[string](ours, mergeTree), ours.version()
			rows := must[[]sqlcgen.MergeRow](t)(q.Merge(t.Context(), sqlcgen.MergeParams{Sandbox: ours.id, From: theirs.id,
				Base: "@base", Conflict: "lines"}))
			var conflicts []string
			for _, r := range rows {
				switch {
				case r.Outcome == "conflict" && (r.Winner != "none" || r.Detail == ""), r.Outcome != "conflict" && r.Winner != "":
					t.Errorf("%+v", r)
				case r.Outcome == "conflict":
					conflicts = append(conflicts, strings.TrimPrefix(r.Path, "/w/"))
				}
			}
			slices.Sort(conflicts)
			want := c.Want
			if want == "" {
				want = before
				if v := ours.version(); v != version {
					t.Errorf("version %d after a merge that did nothing, was %d", v, version)
				}
			}
			if got := get[string](ours, mergeTree); got != want || strings.Join(conflicts, " ") != c.Conflicts {
				t.Errorf("%s, conflicts %q\nwant %s, %q\n%+v", got, conflicts, want, c.Conflicts, rows)
			}
			lists(ours, nil, "SELECT f::text FROM fs.fsck() f")
			if len(conflicts) > 0 {
				// Every strategy that goes on does so, and says who won.
				for _, s := range []string{"ours", "markers", "theirs"} {
					for _, r := range must[[]sqlcgen.MergeRow](t)(q.Merge(t.Context(),
						sqlcgen.MergeParams{Sandbox: ours.id, From: theirs.id, Base: "@base", Conflict: s})) {
						if r.Outcome == "conflict" && (r.Winner == "" || r.Winner == "none") {
							t.Errorf("%s: %+v", s, r)
						}
					}
					lists(ours, nil, "SELECT f::text FROM fs.fsck() f")
				}
				if n := get[int64](ours, "SELECT count(*) FROM fs.tree('/') WHERE name ^@ '.merge-'"); n > 0 {
					t.Error("something was left aside")
				}
			}
		})
	}
}

// What a merge brings is what it was there: links of one file, devices with their numbers, times.
func TestMerge_keepsLinksDevicesAndTimes(t *testing.T) {
	t.Parallel()
	q, ours, theirs := sides(t, "SELECT fs.write_file('/old', 'old')", "SELECT fs.write_file('/one', '1')",
		"SELECT fs.link('/one', '/two')")
	for _, s := range []string{
		"SELECT fs.link('/old', '/name')", "SELECT fs.mkdir('/d')", "SELECT fs.write_file('/d/a', 'new')",
		"SELECT fs.link('/d/a', '/d/b')", "SELECT fs.link('/d/a', '/c')",
		"SELECT fs.mknod('/dev/x', 2::smallint, 384, 259)", "SELECT fs.symlink('t', '/l')", "SELECT fs.rm('/two')",
		"SELECT fs.write_file('/two', '2')",
		"SELECT fs.utimes('/d/a', 1000), fs.utimes('/dev/x', 2000), fs.utimes('/l', 3000, false), fs.utimes('/d', 4000)",
	} {
		theirs.must(s)
	}
	merge(t, q, ours.id, theirs.id, "lines")
	for _, links := range []string{"/old /name", "/d/a /d/b /c"} {
		wants(ours, int64(1),
			"SELECT count(DISTINCT l.ino) FROM unnest(string_to_array($1, ' ')) p CROSS JOIN LATERAL fs.lstat(p) l", links)
	}
	wants(ours, int32(3), "SELECT nlink FROM fs.lstat('/c')")
	wants(ours, int32(259), "SELECT rdev FROM fs.lstat('/dev/x')")
	wants(ours, int32(384), "SELECT mode FROM fs.lstat('/dev/x')")
	for path, mtime := range map[string]int64{"/d/a": 1000, "/dev/x": 2000, "/l": 3000, "/d": 4000} {
		wants(ours, mtime, "SELECT mtime FROM fs.lstat($1)", path)
	}
	// One of two names of a file is another file there: the other name keeps what it has.
	wants(ours, "1", text, "/one")
	wants(ours, "2", text, "/two")
	lists(ours, nil, "SELECT f::text FROM fs.fsck() f")
}

// A merge takes time in proportion to the text, not to the square of it: what both changed in every other line used to
// copy the whole text for each.
func TestMerge_aLargeText(t *testing.T) {
	t.Parallel()
	q, ours, theirs := sides(t,
		"SELECT fs.write_file('/f', convert_to((SELECT string_agg(n::text, E'\n' ORDER BY n) FROM generate_series(1, 60000) n), 'UTF8'))")
	change := `SELECT fs.write_file('/f', convert_to((SELECT string_agg(CASE n %% 4 WHEN %d THEN 'changed ' ELSE '' END || n, E'\n' ORDER BY n) FROM generate_series(1, 60000) n), 'UTF8'))`
	ours.must(strings.ReplaceAll(strings.ReplaceAll(change, "%%", "%"), "%d", "1"))
	theirs.must(strings.ReplaceAll(strings.ReplaceAll(change, "%%", "%"), "%d", "3"))
	ours.must("SET statement_timeout = '2min'")
	rows := must[[]sqlcgen.MergeRow](t)(q.Merge(t.Context(), sqlcgen.MergeParams{Sandbox: ours.id, From: theirs.id,
		Base: "@base", Conflict: "lines"}))
	if len(rows) != 1 || rows[0].Outcome != "merged" {
		t.Fatalf("%+v", rows)
	}
	wants(ours, int64(30000),
		"SELECT count(*) FROM string_to_table(convert_from(fs.read_file('/f'), 'UTF8'), E'\n') l WHERE l LIKE 'changed%'")
}
