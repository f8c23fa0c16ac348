package functions_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/sql/sqltest"
	"github.com/pgbox/pgbox/sqlcgen"
)

// What is read in one go is what a walk from name to name finds, whatever upper layers hid, moved and made anew.
func TestWholeTree_isWhatTheWalkFinds(t *testing.T) {
	onChains(t, func(t *testing.T, s *scope, between func()) {
		s.must("SELECT fs.mkdir('/t/a/b/c/d/e/f/g/h/i', p_parents => true)")
		s.must("SELECT fs.write_file('/t/a/b/c/f' || n, convert_to(repeat('x', n * 7000), 'UTF8')) FROM generate_series(0, 20) n")
		s.must("SELECT fs.mkdir('/t/gone/sub', p_parents => true), fs.write_file('/t/gone/sub/f', 'x')")
		s.must("SELECT fs.symlink('../b', '/t/a/b/link'), fs.mknod('/t/pipe', 1::smallint)")
		between()
		s.must("SELECT fs.mv('/t/a/b/c', '/t/moved')")
		s.must("SELECT fs.mkdir('/t/a/b/c'), fs.write_file('/t/a/b/c/f1', 'another'), fs.link('/t/moved/f9', '/t/a/b/c/hard')")
		s.must("SELECT fs.rm('/t/gone', true), fs.write_file('/t/gone', 'a file now')")
		between()
		s.must("SELECT fs.mv('/t/a', '/t/moved/d/a'), fs.mkdir('/t/a'), fs.mv('/t/moved/d/a/b', '/t/a/b')")
		s.must("SELECT fs.truncate('/t/moved/f20', 200000), fs.write_at('/t/moved/f3', 'y', 70000), fs.rm('/t/moved/f7')")
		between()
		s.must("SELECT fs.mv('/t/moved/d/e/f/g', '/t/g'), fs.cp('/t/moved', '/t/copy', true), fs.rm('/t/moved', true)")
		between()
		s.must("SELECT fs.write_file('/t/copy/f1', 'once more'), fs.rm('/t/copy/d', true)")
		for _, path := range []string{"/", "/t", "/t/copy", "/t/a/b/c", "/t/gone"} {
			const trees = `WITH w AS (SELECT w.* FROM pgbox.sandbox s, pgbox.whole_tree(s.layers, $2, $3, true) w WHERE s.id = $1),
				t AS (SELECT t.* FROM pgbox.sandbox s, pgbox.subtree(s.layers, $2, $3, 8000, true) t WHERE s.id = $1) `
			ino := get[int64](s, "SELECT fs.resolve($1)", path)
			count := func(sql string) (n int) {
				t.Helper()
				if err := s.admin.QueryRow(t.Context(), trees+sql, s.id, ino, path).Scan(&n); err != nil {
					t.Fatal(err)
				}
				return n
			}
			found := count("SELECT count(*)::int FROM t")
			if n := count("SELECT count(*)::int FROM w"); n != found || found == 0 {
				t.Errorf("%s: %d rows, the walk finds %d", path, n, found)
			}
			if n := count("SELECT count(*)::int FROM (SELECT * FROM t EXCEPT ALL SELECT * FROM w) x"); n != 0 {
				t.Errorf("%s: %d rows are others", path, n)
			}
			var whole, walked string
			if err := s.admin.QueryRow(t.Context(), `SELECT u::text, (SELECT (count(*), coalesce(sum(t.size) FILTER (WHERE t.kind = 8), 0),
				coalesce(sum((SELECT sum(b.size) FROM (SELECT DISTINCT ON (c.idx) c.sha256 FROM pgbox.chunk c WHERE c.layer_id = ANY (s.layers) AND c.ino = t.ino
				                ORDER BY c.idx, array_position(s.layers, c.layer_id)) e JOIN pgbox.blob b USING (sha256))) FILTER (WHERE t.kind = 8), 0))::text
				FROM (SELECT DISTINCT t.ino, t.kind, t.size FROM pgbox.subtree(s.layers, $2, '/', 8000) t) t)
				FROM pgbox.sandbox s, pgbox.whole_usage(s.layers, $2) u WHERE s.id = $1`, s.id, ino).Scan(&whole, &walked); err != nil {
				t.Fatal(err)
			}
			if whole != walked {
				t.Errorf("%s: usage %s, the walk finds %s", path, whole, walked)
			}
		}
	})
}

// layered is a database with a sandbox of many files on four layers, and a small directory.
func layered(t *testing.T, files int) (*sqlcgen.Queries, *scope) {
	t.Helper()
	q, u, id := gcDatabase(t)
	s := &scope{TB: t, id: id, conn: sqltest.Connect(t, sqltest.GatewayURL(u)), admin: sqltest.Connect(t, u)}
	s.must("SELECT fs.use($1)", id)
	s.must("SELECT fs.mkdir('/small'), fs.write_file('/small/f' || n, convert_to(n::text, 'UTF8')) FROM generate_series(1, 1) n")
	for layer := range 3 {
		many(t, q, id, fmt.Sprint("layer", layer, "-"), files/3)
		s.stack()
	}
	s.root("VACUUM ANALYZE pgbox.inode, pgbox.dirent, pgbox.chunk, pgbox.blob")
	return q, s
}

// in runs a statement in the scope of a sandbox and returns how many pages it touched.
func (s *scope) blocks(sql string) int {
	s.Helper()
	s.root("SELECT fs.use($1)", s.id)
	s.root("SELECT count(*) FROM " + sql) // plans and catalogs
	return blocks(s, s.admin, "SELECT count(*) FROM "+sql)
}

// They looked for each file in each layer: 13 times the time of a load of all the rows, and 50 times its pages.
func TestTreeVerbs_readAWholeTreeAsALoadDoes(t *testing.T) {
	t.Parallel()
	const files = 6000
	_, s := layered(t, files)
	loads := 0
	for _, layer := range get[[]uuid.UUID](s, "SELECT layers FROM fs.fence($1)", s.id) {
		for _, table := range []string{"dirents", "inodes", "chunks"} {
			loads += s.blocks(fmt.Sprintf("fs.load_%s('%s', '%s')", table, s.id, layer))
		}
	}
	for verb, bar := range map[string]int{
		"fs.tree('/')": 4 * loads, "fs.find('/')": 4 * loads, "fs.files": 4 * loads,
		"fs.du('/')": 4*loads + 4*files, // each content's row
	} {
		if n := s.blocks(verb); n > bar {
			t.Errorf("%s touches %d pages, the loads of all rows %d", verb, n, loads)
		}
	}
}

// What is below a small directory is not found by reading all of a large tree.
func TestTreeVerbs_costWhatIsBelow(t *testing.T) {
	t.Parallel()
	_, few := layered(t, 30)
	_, most := layered(t, 6000)
	for _, verb := range []string{"fs.tree('/small')", "fs.find('/small')", "fs.du('/small')"} {
		if a, b := few.blocks(verb), most.blocks(verb); b > 2*a+20 {
			t.Errorf("%s touches %d pages in a large tree, %d in a small one", verb, b, a)
		}
	}
}
