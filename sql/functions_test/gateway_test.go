package functions_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/sql/sqltest"
	"github.com/pgbox/pgbox/sqlcgen"
)

// The tests of the functions that take the sandbox as an argument use the
// generated queries, which tests those too.

// firstIno is pgbox.first_ino().
const firstIno = 1024

func queries(t testing.TB) (*sqlcgen.Queries, *pgxpool.Pool) {
	t.Helper()
	pool := sqltest.Pool(t)
	return sqlcgen.New(pool), pool
}

// wantErrno fails the test unless err carries the SQLSTATE of want.
func wantErrno(t testing.TB, err error, want vfs.Errno) {
	t.Helper()
	pe, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		t.Fatalf("error %v, want %s", err, want.Name())
	}
	if got, ok := vfs.FromSQLState(pe.Code); !ok || got != want {
		t.Fatalf("error %s (%s), want %s", pe.Code, pe.Message, want.Name())
	}
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func hash(data []byte) []byte {
	sum := sha256.Sum256(data)
	return sum[:]
}

// delta builds the arguments of fs.apply as a run on a tree would.
type delta struct{ sqlcgen.ApplyParams }

func begin(t testing.TB, q *sqlcgen.Queries, id uuid.UUID) *delta {
	t.Helper()
	f := must[sqlcgen.FsFence](t)(q.Fence(t.Context(), id))
	return &delta{sqlcgen.ApplyParams{Sandbox: id, Version: f.Version, NextIno: f.NextIno, UsedBytes: f.UsedBytes,
		UsedInodes: f.UsedInodes}}
}

// inode adds an inode row; mtime is its number, so that rows differ.
func (d *delta) inode(ino int64, kind int16, nlink int32, size int64, target string) {
	d.Ino = append(d.Ino, ino)
	d.Kind = append(d.Kind, kind)
	d.Mode = append(d.Mode, 0o644)
	d.UID = append(d.UID, 1000)
	d.GID = append(d.GID, 1000)
	d.Nlink = append(d.Nlink, nlink)
	d.Rdev = append(d.Rdev, 0)
	d.Size = append(d.Size, size)
	d.Mtime = append(d.Mtime, ino)
	d.Ctime = append(d.Ctime, ino)
	d.Target = append(d.Target, target)
}

// name sets (child 0: removes) a name.
func (d *delta) name(parent int64, name string, child int64) {
	d.Parent = append(d.Parent, parent)
	d.Name = append(d.Name, name)
	d.Child = append(d.Child, child)
}

func (d *delta) chunk(ino int64, idx int32, sha []byte) {
	d.ChunkIno = append(d.ChunkIno, ino)
	d.ChunkIdx = append(d.ChunkIdx, idx)
	d.ChunkSHA256 = append(d.ChunkSHA256, sha)
}

// create adds a new regular file with one chunk at most, its content inline.
func (d *delta) create(parent int64, name, content string) int64 {
	ino := d.NextIno
	d.NextIno++
	d.UsedInodes++
	d.UsedBytes += int64(len(content))
	d.inode(ino, 8, 1, int64(len(content)), "")
	d.name(parent, name, ino)
	if content != "" {
		d.chunk(ino, 0, hash([]byte(content)))
		d.Blob = append(d.Blob, []byte(content))
	}
	d.Op = append(d.Op, "create")
	d.Path = append(d.Path, "/"+name)
	d.PathTo = append(d.PathTo, "")
	d.ChangeIno = append(d.ChangeIno, ino)
	return ino
}

// remove drops the only name of a regular file.
func (d *delta) remove(parent int64, name string, ino, size int64) {
	d.name(parent, name, 0)
	d.Gone = append(d.Gone, ino)
	d.UsedInodes--
	d.UsedBytes -= size
}

func (d *delta) apply(t testing.TB, q *sqlcgen.Queries) sqlcgen.ApplyRow {
	t.Helper()
	return must[sqlcgen.ApplyRow](t)(q.Apply(t.Context(), d.ApplyParams))
}

// write commits one new file in the root directory.
func write(t testing.TB, q *sqlcgen.Queries, id uuid.UUID, name, content string) int64 {
	t.Helper()
	d := begin(t, q, id)
	ino := d.create(1, name, content)
	d.apply(t, q)
	return ino
}

// read returns a file through the path verbs, or the errno.
func read(t testing.TB, pool *pgxpool.Pool, id uuid.UUID, path string) (content string, err error) {
	t.Helper()
	err = pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), "SELECT set_config('app.sandbox_id', $1, true)", id.String()); err != nil {
			return err
		}
		var data []byte
		err := tx.QueryRow(t.Context(), "SELECT fs.read_file($1)", path).Scan(&data)
		content = string(data)
		return err
	})
	return content, err
}

// wantFile fails the test unless the sandbox holds the file with this content.
func wantFile(t testing.TB, pool *pgxpool.Pool, id uuid.UUID, path, want string) {
	t.Helper()
	got, err := read(t, pool, id, path)
	if err != nil || got != want {
		t.Fatalf("%s: %q, %v; want %q", path, got, err, want)
	}
}

func wantNoFile(t testing.TB, pool *pgxpool.Pool, id uuid.UUID, path string) {
	t.Helper()
	_, err := read(t, pool, id, path)
	wantErrno(t, err, vfs.ENOENT)
}

// rows counts the rows that one layer holds.
func rows(t testing.TB, owner *pgx.Conn, layer uuid.UUID) (n int) {
	t.Helper()
	err := owner.QueryRow(context.Background(), `SELECT (SELECT count(*) FROM pgbox.inode WHERE layer_id = $1)
		+ (SELECT count(*) FROM pgbox.dirent WHERE layer_id = $1) + (SELECT count(*) FROM pgbox.chunk WHERE layer_id = $1)`, layer).Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
