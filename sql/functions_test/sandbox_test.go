package functions_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/sql/sqltest"
	"github.com/pgbox/pgbox/sqlcgen"
)

func create(t testing.TB, q *sqlcgen.Queries, p sqlcgen.CreateSandboxParams) sqlcgen.FsSandbox {
	t.Helper()
	if p.Tenant == "" {
		p.Tenant = "test"
	}
	if p.Owner == "" {
		p.Owner = "owner"
	}
	return must[sqlcgen.FsSandbox](t)(q.CreateSandbox(t.Context(), p))
}

func TestCreateSandbox_twoRowsOverTheBaseLayer(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	limit := int64(10)
	until := time.Now().Add(time.Hour).Truncate(time.Microsecond)
	s := create(t, q, sqlcgen.CreateSandboxParams{Name: "n", Env: []byte(`{"A":"1"}`), Labels: []byte(`{"k":"v"}`),
		MaxBytes: &limit, ExpiresAt: &until})
	base := must[uuid.UUID](t)(q.BaseLayer(t.Context()))
	if len(s.Layers) != 2 || s.Layers[1] != base || s.NextIno != firstIno || s.Version != 0 || s.UsedBytes != 0 ||
		s.UsedInodes != 0 {
		t.Fatalf("%+v", s)
	}
	if string(s.Env) != `{"A": "1"}` || string(s.Config) != `{}` || *s.MaxBytes != 10 || s.MaxInodes != nil ||
		!s.ExpiresAt.Equal(until) {
		t.Fatalf("%+v", s)
	}
	wantFile(t, pool, s.ID, "/bin/cat", "#!/bin/builtin cat\n")
	_, err := q.CreateSandbox(t.Context(), sqlcgen.CreateSandboxParams{ID: &s.ID, Owner: "o", Name: "again"})
	wantErrno(t, err, vfs.EEXIST)
}

// An id is never used again, not even after its sandbox was dropped: whoever cached the old tree would serve it.
func TestCreateSandbox_idOfADroppedOneStaysTaken(t *testing.T) {
	t.Parallel()
	q, _ := queries(t)
	s := create(t, q, sqlcgen.CreateSandboxParams{Name: "n"})
	if err := q.DropSandbox(t.Context(), s.ID); err != nil {
		t.Fatal(err)
	}
	_, err := q.CreateSandbox(t.Context(), sqlcgen.CreateSandboxParams{ID: &s.ID, Owner: "o", Name: "again"})
	wantErrno(t, err, vfs.EEXIST)
}

func TestFence_refusesWhatIsNotThere(t *testing.T) {
	t.Parallel()
	q, _ := queries(t)
	past := time.Now().Add(-time.Second)
	dropped := create(t, q, sqlcgen.CreateSandboxParams{Name: "dropped"}).ID
	if err := q.DropSandbox(t.Context(), dropped); err != nil {
		t.Fatal(err)
	}
	for what, id := range map[string]uuid.UUID{
		"unknown": uuid.New(), "dropped": dropped, "expired": create(t, q,
			sqlcgen.CreateSandboxParams{Name: "expired", ExpiresAt: &past}).ID,
	} {
		t.Run(what, func(t *testing.T) {
			_, err := q.Fence(t.Context(), id)
			wantErrno(t, err, vfs.ESRCH)
			_, err = q.GetSandbox(t.Context(), id)
			wantErrno(t, err, vfs.ESRCH)
			_, err = q.Usage(t.Context(), id)
			wantErrno(t, err, vfs.ESRCH)
			_, err = q.Fork(t.Context(), sqlcgen.ForkParams{Sandbox: id})
			wantErrno(t, err, vfs.ESRCH)
			wantErrno(t, q.DropSandbox(t.Context(), id), vfs.ESRCH)
			_, err = q.PutBlobs(t.Context(), sqlcgen.PutBlobsParams{Sandbox: id, Data: [][]byte{{1}}})
			wantErrno(t, err, vfs.ESRCH)
		})
	}
}

func TestUse_setsTheScopeOfTheSession(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := sqltest.Sandbox(t, pool)
	write(t, q, id, "f", "psql")
	conn := sqltest.Connect(t, sqltest.GatewayURL(sqltest.URL(t)))
	var content []byte
	err := conn.QueryRow(t.Context(), "SELECT fs.read_file('/f')").Scan(&content)
	wantErrno(t, err, vfs.EINVAL) // no scope yet
	if _, err := conn.Exec(t.Context(), "SELECT fs.use($1)", id); err != nil {
		t.Fatal(err)
	}
	if err := conn.QueryRow(t.Context(), "SELECT fs.read_file('/f')").Scan(&content); err != nil ||
		string(content) != "psql" {
		t.Fatalf("%q, %v", content, err)
	}
	_, err = conn.Exec(t.Context(), "SELECT fs.use($1)", uuid.New())
	wantErrno(t, err, vfs.ESRCH)
	// The refused one did not become the scope.
	if err := conn.QueryRow(t.Context(), "SELECT fs.read_file('/f')").Scan(&content); err != nil ||
		string(content) != "psql" {
		t.Fatalf("%q, %v", content, err)
	}
}

func TestListSandboxes_newestFirstInPages(t *testing.T) {
	t.Parallel()
	q, _ := queries(t)
	owner := uuid.NewString()
	var want []uuid.UUID
	for i := range 5 {
		s := create(t, q, sqlcgen.CreateSandboxParams{Owner: owner, Name: fmt.Sprint("n", i%2),
			Labels: fmt.Appendf(nil, `{"i":%d,"all":true}`, i)})
		want = append([]uuid.UUID{s.ID}, want...)
	}
	dropped := create(t, q, sqlcgen.CreateSandboxParams{Owner: owner, Name: "n0"})
	if err := q.DropSandbox(t.Context(), dropped.ID); err != nil {
		t.Fatal(err)
	}
	past := time.Now().Add(-time.Second)
	create(t, q, sqlcgen.CreateSandboxParams{Owner: owner, Name: "n0", ExpiresAt: &past})
	create(t, q, sqlcgen.CreateSandboxParams{Owner: owner + "x", Name: "n0"})

	var got []uuid.UUID
	p := sqlcgen.ListSandboxesParams{Tenant: "test", Owner: owner, MaxRows: 2}
	for {
		page := must[[]sqlcgen.FsSandbox](t)(q.ListSandboxes(t.Context(), p))
		if len(page) == 0 {
			break
		}
		for _, s := range page {
			got = append(got, s.ID)
		}
		last := page[len(page)-1]
		p.AfterCreatedAt, p.AfterID = &last.CreatedAt, &last.ID
	}
	if !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	name := "n1"
	if l := must[[]sqlcgen.FsSandbox](t)(q.ListSandboxes(t.Context(),
		sqlcgen.ListSandboxesParams{Tenant: "test", Owner: owner, MaxRows: 9, Name: &name})); len(l) != 2 {
		t.Fatalf("%d of name n1", len(l))
	}
	if l := must[[]sqlcgen.FsSandbox](t)(q.ListSandboxes(t.Context(),
		sqlcgen.ListSandboxesParams{Tenant: "test", Owner: owner, MaxRows: 9, Labels: []byte(`{"i":3}`)})); len(l) != 1 {
		t.Fatalf("%d with label", len(l))
	}
	if l := must[[]sqlcgen.FsSandbox](t)(q.ListSandboxes(t.Context(),
		sqlcgen.ListSandboxesParams{Tenant: "other", Owner: owner, MaxRows: 9})); len(l) != 0 {
		t.Fatalf("%d in another tenant", len(l))
	}
}

func TestUpdateSandbox_changesOnlyWhatIsGiven(t *testing.T) {
	t.Parallel()
	q, _ := queries(t)
	until := time.Now().Add(time.Hour)
	s := create(t, q, sqlcgen.CreateSandboxParams{Name: "old", Env: []byte(`{"A":"1"}`), ExpiresAt: &until})
	name, limit := "new", int64(5)
	s = must[sqlcgen.FsSandbox](t)(q.UpdateSandbox(t.Context(),
		sqlcgen.UpdateSandboxParams{Sandbox: s.ID, Name: &name, MaxInodes: &limit}))
	if s.Name != "new" || string(s.Env) != `{"A": "1"}` || s.ExpiresAt == nil || *s.MaxInodes != 5 || s.Version != 0 {
		t.Fatalf("%+v", s)
	}
	s = must[sqlcgen.FsSandbox](t)(q.UpdateSandbox(t.Context(),
		sqlcgen.UpdateSandboxParams{Sandbox: s.ID, Env: []byte(`{}`), Clear: []string{"expires_at", "max_inodes"}}))
	if s.Name != "new" || string(s.Env) != `{}` || s.ExpiresAt != nil || s.MaxInodes != nil {
		t.Fatalf("%+v", s)
	}
}

func TestUsage_followsTheTree(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := sqltest.Sandbox(t, pool)
	write(t, q, id, "f", "12345")
	must[sqlcgen.FsSnapshot](t)(q.Snapshot(t.Context(), sqlcgen.SnapshotParams{Sandbox: id, Name: "s"}))
	u := must[sqlcgen.UsageRow](t)(q.Usage(t.Context(), id))
	if u.UsedBytes != 5 || u.UsedInodes != 1 || u.MaxBytes != 0 || u.Layers != 3 || u.Snapshots != 1 || u.Version != 2 {
		t.Fatalf("%+v", u)
	}
}

func TestLoad_givesAllRowsOfOneLayerInKeyOrder(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := sqltest.Sandbox(t, pool)
	const n = 8192 + 10 // more than one batch
	d := begin(t, q, id)
	for i := range n {
		d.create(1, fmt.Sprintf("f%05d", n-i), "same")
	}
	d.apply(t, q)
	top := d.layers(t, q)[0]
	var inos []int64
	for _, b := range must[[]sqlcgen.LoadInodesRow](t)(q.LoadInodes(t.Context(),
		sqlcgen.LoadInodesParams{Sandbox: id, Layer: top})) {
		if len(b.Ino) > 8192 || len(b.Target) != len(b.Ino) || len(b.Mtime) != len(b.Ino) {
			t.Fatalf("batch of %d inodes", len(b.Ino))
		}
		inos = append(inos, b.Ino...)
	}
	var names []string
	for _, b := range must[[]sqlcgen.LoadDirentsRow](t)(q.LoadDirents(t.Context(),
		sqlcgen.LoadDirentsParams{Sandbox: id, Layer: top})) {
		names = append(names, b.Name...)
	}
	var chunks []int64
	for _, b := range must[[]sqlcgen.LoadChunksRow](t)(q.LoadChunks(t.Context(),
		sqlcgen.LoadChunksParams{Sandbox: id, Layer: top})) {
		chunks = append(chunks, b.Ino...)
	}
	if len(inos) != n || !slices.IsSorted(inos) || len(names) != n || !slices.IsSorted(names) || len(chunks) != n ||
		!slices.IsSorted(chunks) {
		t.Fatalf("%d inodes, %d names, %d chunks", len(inos), len(names), len(chunks))
	}
	base := must[uuid.UUID](t)(q.BaseLayer(t.Context()))
	if b := must[[]sqlcgen.LoadInodesRow](t)(q.LoadInodes(t.Context(),
		sqlcgen.LoadInodesParams{Sandbox: id, Layer: base})); len(b) != 1 || b[0].Ino[0] != 1 ||
		slices.Max(b[0].Ino) >= firstIno {
		t.Fatal("the base layer is numbered from 1 to below the first inode of a sandbox")
	}
}

func TestLoad_whiteoutsAndHoles(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := sqltest.Sandbox(t, pool)
	ino := write(t, q, id, "f", "x")
	forked(t, q, id)
	d := begin(t, q, id)
	d.remove(1, "f", ino, 1)
	d.apply(t, q)
	top := d.layers(t, q)[0]
	in := must[[]sqlcgen.LoadInodesRow](t)(q.LoadInodes(t.Context(), sqlcgen.LoadInodesParams{Sandbox: id, Layer: top}))
	de := must[[]sqlcgen.LoadDirentsRow](t)(q.LoadDirents(t.Context(), sqlcgen.LoadDirentsParams{Sandbox: id, Layer: top}))
	if len(in) != 1 || in[0].Ino[0] != ino || in[0].Kind[0] != 0 || len(de) != 1 || de[0].Name[0] != "f" ||
		de[0].Ino[0] != 0 {
		t.Fatalf("%+v %+v", in, de)
	}
}

func TestLoad_refusesTheLayersOfOthers(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id, other := sqltest.Sandbox(t, pool), sqltest.Sandbox(t, pool)
	write(t, q, other, "secret", "secret")
	top := must[sqlcgen.FsFence](t)(q.Fence(t.Context(), other)).Layers[0]
	_, err := q.LoadInodes(t.Context(), sqlcgen.LoadInodesParams{Sandbox: id, Layer: top})
	wantErrno(t, err, vfs.ESTALE)
	_, err = q.LoadDirents(t.Context(), sqlcgen.LoadDirentsParams{Sandbox: id, Layer: top})
	wantErrno(t, err, vfs.ESTALE)
	_, err = q.LoadChunks(t.Context(), sqlcgen.LoadChunksParams{Sandbox: id, Layer: top})
	wantErrno(t, err, vfs.ESTALE)
}

func TestBlobs_putMissingRead(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := sqltest.Sandbox(t, pool)
	a, b := []byte("a"+id.String()), []byte("b"+id.String())
	want := [][]byte{hash(a), hash(b), hash(b)}
	if m := must[[][]byte](t)(q.MissingBlobs(t.Context(), sqlcgen.MissingBlobsParams{Sandbox: id,
		SHA256: want})); len(m) != 2 {
		t.Fatalf("%d missing", len(m))
	}
	if n := must[int64](t)(q.PutBlobs(t.Context(), sqlcgen.PutBlobsParams{Sandbox: id, Data: [][]byte{a, b, b}})); n != 2 {
		t.Fatalf("%d put", n)
	}
	if n := must[int64](t)(q.PutBlobs(t.Context(), sqlcgen.PutBlobsParams{Sandbox: id, Data: [][]byte{a}})); n != 0 {
		t.Fatalf("%d put again", n)
	}
	if m := must[[][]byte](t)(q.MissingBlobs(t.Context(), sqlcgen.MissingBlobsParams{Sandbox: id,
		SHA256: want})); len(m) != 0 {
		t.Fatalf("%d missing", len(m))
	}
	got := must[[]sqlcgen.ReadBlobsRow](t)(q.ReadBlobs(t.Context(), sqlcgen.ReadBlobsParams{Sandbox: id, SHA256: want}))
	if len(got) != 2 {
		t.Fatalf("%d read", len(got))
	}
	for _, r := range got {
		if string(hash(r.Data)) != string(r.SHA256) {
			t.Fatal("content under another's hash")
		}
	}
}

// Two uploads of the same contents in opposite orders wait for each other in one order only.
func TestPutBlobs_noDeadlock(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := sqltest.Sandbox(t, pool)
	for round := range 20 {
		var data [][]byte
		for i := range 50 {
			data = append(data, fmt.Appendf(nil, "%s %d %d", id, round, i))
		}
		back := slices.Clone(data)
		slices.Reverse(back)
		var wg sync.WaitGroup
		errs := make([]error, 4)
		for i := range errs {
			wg.Go(func() {
				_, errs[i] = q.PutBlobs(context.Background(), sqlcgen.PutBlobsParams{Sandbox: id,
					Data: [][][]byte{data, back}[i%2]})
			})
		}
		wg.Wait()
		for _, err := range errs {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestDropSandbox_freesItsLayersAndNoOthers(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	owner := sqltest.Owner(t)
	id := sqltest.Sandbox(t, pool)
	write(t, q, id, "shared", "shared")
	child := forked(t, q, id)
	write(t, q, id, "own", "own")
	must[sqlcgen.FsSnapshot](t)(q.Snapshot(t.Context(), sqlcgen.SnapshotParams{Sandbox: id, Name: "s"}))
	layers := must[sqlcgen.FsFence](t)(q.Fence(t.Context(), id)).Layers // top, own, shared, base
	if err := q.DropSandbox(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if rows(t, owner, layers[1]) != 0 || rows(t, owner, layers[2]) == 0 || rows(t, owner, layers[3]) == 0 {
		t.Fatal("wrong layers were freed")
	}
	wantFile(t, pool, child, "/shared", "shared")
	if err := q.DropSandbox(t.Context(), child); err != nil {
		t.Fatal(err)
	}
	if rows(t, owner, layers[2]) != 0 {
		t.Fatal("the last user is gone, the layer is not")
	}
	var n int
	if err := owner.QueryRow(t.Context(), "SELECT count(*) FROM pgbox.snapshot WHERE sandbox_id = $1",
		id).Scan(&n); err != nil || n != 0 {
		t.Fatalf("%d snapshots, %v", n, err)
	}
}

func TestExpire_dropsWhatIsDueAndNothingElse(t *testing.T) {
	t.Parallel()
	u := sqltest.Database(t)
	q := sqlcgen.New(sqltest.Connect(t, sqltest.GatewayURL(u)))
	past, later := time.Now().Add(-time.Second), time.Now().Add(time.Hour)
	due := create(t, q, sqlcgen.CreateSandboxParams{Name: "due", ExpiresAt: &past})
	create(t, q, sqlcgen.CreateSandboxParams{Name: "due too", ExpiresAt: &past})
	live := create(t, q, sqlcgen.CreateSandboxParams{Name: "live", ExpiresAt: &later})
	for _, want := range []int64{1, 1, 0} {
		if n := must[int64](t)(q.Expire(t.Context(), 1)); n != want {
			t.Fatalf("%d dropped, want %d", n, want)
		}
	}
	must[sqlcgen.FsFence](t)(q.Fence(t.Context(), live.ID))
	owner := sqltest.Connect(t, u)
	var n int
	if err := owner.QueryRow(t.Context(), "SELECT count(*) FROM pgbox.layer WHERE id = $1",
		due.Layers[0]).Scan(&n); err != nil || n != 0 {
		t.Fatalf("%d layers, %v", n, err)
	}
}

func TestBaseLayer_isSealedAndNamedAfterItsContent(t *testing.T) {
	t.Parallel()
	q, _ := queries(t)
	owner := sqltest.Owner(t)
	base := must[uuid.UUID](t)(q.BaseLayer(t.Context()))
	var again uuid.UUID
	var sealed bool
	err := owner.QueryRow(t.Context(), "SELECT pgbox.refresh_base(), sealed_at IS NOT NULL FROM pgbox.layer WHERE id = $1",
		base).Scan(&again, &sealed)
	if err != nil || again != base || !sealed {
		t.Fatalf("%s, again %s, sealed %v, %v", base, again, sealed, err)
	}
}

// layers returns the chain as it is after the delta was applied.
func (d *delta) layers(t testing.TB, q *sqlcgen.Queries) []uuid.UUID {
	t.Helper()
	return must[sqlcgen.FsFence](t)(q.Fence(t.Context(), d.Sandbox)).Layers
}
