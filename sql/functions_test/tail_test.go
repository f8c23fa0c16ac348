package functions_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pgbox/pgbox/sql/sqltest"
	"github.com/pgbox/pgbox/sqlcgen"
)

// growing appends to one file n times, with fs.apply or the path verb, and returns the content after each step.
func growing(t *testing.T, q *sqlcgen.Queries, id uuid.UUID, n int, verb func(path string, data []byte)) [][]byte {
	t.Helper()
	r := rand.New(rand.NewPCG(1, uint64(n)))
	more := func(k int) []byte {
		b := make([]byte, k)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	content := more(3000)
	ino := write(t, q, id, "log", string(content))
	all := [][]byte{content}
	for i := range n {
		piece := more(1 + i%40)
		content = append(bytes.Clone(content), piece...)
		if verb != nil {
			verb("/log", piece)
		} else {
			d := begin(t, q, id)
			d.UsedBytes += int64(len(piece))
			d.inode(ino, 8, 1, int64(len(content)), "")
			d.chunk(ino, 0, hash(content))
			d.Blob = [][]byte{content}
			d.apply(t, q)
		}
		all = append(all, content)
	}
	return all
}

// Every append to a file used to store all of its last chunk once more: 3000 appends of 20 bytes left 66 MB.
func TestAppends_storeWhatIsNew(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"apply", "append_file"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			q, u, id := gcDatabase(t)
			owner := sqltest.Connect(t, u)
			get := func(sql string, args ...any) (n int) {
				t.Helper()
				if err := owner.QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
					t.Fatalf("%s: %v", sql, err)
				}
				return n
			}
			stored := func() int { return get("SELECT sum(octet_length(data))::int FROM pgbox.blob WHERE size >= 3000") }
			var verb func(path string, data []byte)
			if how == "append_file" {
				conn := sqltest.Connect(t, sqltest.GatewayURL(u))
				verb = func(path string, data []byte) {
					if _, err := conn.Exec(t.Context(), "SELECT fs.append_file($2, $3) FROM fs.use($1)", id, path, data); err != nil {
						t.Fatal(err)
					}
				}
			}
			const n = 300
			all := growing(t, q, id, n, verb)
			last := all[n]
			if have := stored(); have > 8*len(last) {
				t.Errorf("%d appends to a file of now %d bytes are stored as %d bytes", n, len(last), have)
			}
			if depth := get(`WITH RECURSIVE piece AS (SELECT base, 1 AS n FROM pgbox.blob UNION ALL SELECT b.base, p.n + 1 FROM piece p JOIN pgbox.blob b ON b.sha256 = p.base)
				SELECT max(n) FROM piece`); depth < 3 || depth > 17 {
				t.Errorf("a content is in %d pieces", depth)
			}
			// What each version held is there until gc takes it, and is what its name says.
			reads := func(all [][]byte) {
				t.Helper()
				var want [][]byte
				for _, c := range all {
					want = append(want, hash(c))
				}
				got := must[[]sqlcgen.ReadBlobsRow](t)(q.ReadBlobs(t.Context(), sqlcgen.ReadBlobsParams{Sandbox: id, SHA256: want}))
				if len(got) != len(all) {
					t.Fatalf("%d contents of %d", len(got), len(all))
				}
				for _, r := range got {
					if !bytes.Equal(hash(r.Data), r.SHA256) {
						t.Fatalf("%x holds %d other bytes", r.SHA256, len(r.Data))
					}
				}
			}
			reads(all)
			if n := get("SELECT count(*) FROM fs.use($1), fs.fsck()", id); n != 0 {
				t.Errorf("%d faults", n)
			}
			gc(t, q, time.Hour)
			reads(all)
			for gc(t, q, 0).More {
			}
			reads(all[n:])
			if have := stored(); have != len(last) {
				t.Errorf("%d bytes are stored for a file of %d when the garbage is gone", have, len(last))
			}
			var got []byte
			if err := owner.QueryRow(t.Context(), "SELECT fs.read_file('/log') FROM fs.use($1)", id).Scan(&got); err != nil ||
				!bytes.Equal(got, last) {
				t.Errorf("the file has %d bytes of %d, %v", len(got), len(last), err)
			}
			// Nobody needs the pieces any more.
			if err := q.DropSandbox(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			for gc(t, q, 0).More {
			}
			if n := get("SELECT count(*) FROM pgbox.blob WHERE size >= 3000"); n != 0 {
				t.Errorf("%d contents are left", n)
			}
		})
	}
}

// A base that is lost is a fault, and no reader takes the rest for the whole.
func TestTail_baseIsMissing(t *testing.T) {
	t.Parallel()
	q, u, id := gcDatabase(t)
	all := growing(t, q, id, 2, nil)
	tx := must[pgx.Tx](t)(sqltest.Connect(t, u).Begin(t.Context()))
	defer func() { _ = tx.Rollback(context.Background()) }()
	if _, err := tx.Exec(t.Context(), "DELETE FROM pgbox.blob WHERE sha256 = $1", hash(all[0])); err != nil {
		t.Fatal(err)
	}
	var check string
	if err := tx.QueryRow(t.Context(), "SELECT string_agg(check_name, ',') FROM fs.use($1), fs.fsck()",
		id).Scan(&check); err != nil || check != "corrupt_blob" {
		t.Errorf("fsck: %s, %v", check, err)
	}
	var data []byte
	if err := tx.QueryRow(t.Context(), "SELECT fs.read_file('/log') FROM fs.use($1)",
		id).Scan(&data); code(err) != "VF005" {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}

// Layers had random names, so whoever filled a new one filled the middle of the indexes, which left every page half
// empty.
func TestNewLayers_fillIndexes(t *testing.T) {
	t.Parallel()
	q, u, _ := gcDatabase(t)
	for range 3 { // some of which would have come before the ones there are
		id := create(t, q, sqlcgen.CreateSandboxParams{Name: "full"}).ID
		d := begin(t, q, id)
		dir := int64(1)
		d.inode(1, 4, 13+80, 0, "") // links of the base layer's and of the new directories
		for i := range 4000 {
			if i%50 == 0 { // the names of directories come before those of the files in them
				dir = d.NextIno
				d.NextIno++
				d.UsedInodes++
				d.inode(dir, 4, 2, 0, "")
				d.name(1, fmt.Sprintf("dir%05d", i), dir)
			}
			d.create(dir, fmt.Sprintf("file%05d", i), "the same")
		}
		d.Blob = d.Blob[:1]
		d.apply(t, q)
	}
	owner := sqltest.Connect(t, u)
	for index, most := range map[string]int{"inode_pkey": 50, "chunk_pkey": 55, "dirent_pkey": 70, "dirent_ino_idx": 50,
		"change_version_idx": 12} {
		var each int
		if err := owner.QueryRow(context.Background(), "SELECT pg_relation_size(('pgbox.' || $1)::regclass) / 12000",
			index).Scan(&each); err != nil {
			t.Fatal(err)
		}
		if each > most {
			t.Errorf("%s takes %d bytes for each entry, more than %d", index, each, most)
		}
	}
}
