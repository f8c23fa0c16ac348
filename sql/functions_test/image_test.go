package functions_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/sql/sqltest"
	"github.com/pgbox/pgbox/sqlcgen"
)

// tenantOf makes a sandbox in a tenant of the test's own, where nobody else has images.
func tenantOf(t *testing.T, q *sqlcgen.Queries) (tenant string, id uuid.UUID) {
	t.Helper()
	tenant = "tenant-" + uuid.NewString()
	return tenant, must[sqlcgen.FsSandbox](t)(q.CreateSandbox(t.Context(),
		sqlcgen.CreateSandboxParams{Tenant: tenant, Owner: "maker", Name: "n"})).ID
}

func fromImage(t *testing.T, q *sqlcgen.Queries, tenant, image string) uuid.UUID {
	t.Helper()
	return must[sqlcgen.FsSandbox](t)(q.CreateSandbox(t.Context(),
		sqlcgen.CreateSandboxParams{Tenant: tenant, Owner: "user", Name: "n", Image: &image})).ID
}

func TestCreateImage_sandboxesOfItAreIndependent(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	tenant, id := tenantOf(t, q)
	ino := write(t, q, id, "f", "of the image")
	image := must[sqlcgen.FsImage](t)(q.CreateImage(t.Context(), sqlcgen.CreateImageParams{Sandbox: id, Name: "img"}))
	if image.Tag != "latest" || image.Owner != "maker" || image.UsedBytes != 12 || image.UsedInodes != 1 {
		t.Fatalf("%+v", image)
	}
	_, err := q.CreateImage(t.Context(), sqlcgen.CreateImageParams{Sandbox: id, Name: "img"})
	wantErrno(t, err, vfs.EEXIST)
	a, b := fromImage(t, q, tenant, "img"), fromImage(t, q, tenant, "img:latest")
	d := begin(t, q, a)
	d.remove(1, "f", ino, 12)
	d.apply(t, q)
	write(t, q, b, "g", "mine")
	wantNoFile(t, pool, a, "/f")
	wantFile(t, pool, b, "/f", "of the image")
	wantNoFile(t, pool, id, "/g")
	wantNoFile(t, pool, fromImage(t, q, tenant, "img"), "/g")
	if f := must[sqlcgen.FsFence](t)(q.Fence(t.Context(), b)); f.UsedBytes != 16 || f.UsedInodes != 2 {
		t.Fatalf("%+v", f)
	}

	missing := "img:other"
	_, err = q.CreateSandbox(t.Context(), sqlcgen.CreateSandboxParams{Tenant: tenant, Owner: "o", Name: "n",
		Image: &missing})
	wantErrno(t, err, vfs.ENOENT)
	own := "img"
	_, err = q.CreateSandbox(t.Context(), sqlcgen.CreateSandboxParams{Tenant: "another", Owner: "o", Name: "n",
		Image: &own})
	wantErrno(t, err, vfs.ENOENT)
}

func TestCreateImage_ofAnEarlierState(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	tenant, id := tenantOf(t, q)
	write(t, q, id, "f", "one")
	must[sqlcgen.FsSnapshot](t)(q.Snapshot(t.Context(), sqlcgen.SnapshotParams{Sandbox: id, Name: "s"}))
	write(t, q, id, "g", "two")
	at, tag := "s", "old"
	must[sqlcgen.FsImage](t)(q.CreateImage(t.Context(), sqlcgen.CreateImageParams{Sandbox: id, Name: "img", Tag: &tag,
		At: &at}))
	child := fromImage(t, q, tenant, "img:old")
	wantFile(t, pool, child, "/f", "one")
	wantNoFile(t, pool, child, "/g")
	// New inodes of the child begin above those that its image may hold.
	write(t, q, child, "h", "three")
	wantFile(t, pool, child, "/f", "one")

	// Replaced, the tag means another tree; who stands on the old one stays.
	must[sqlcgen.FsImage](t)(q.CreateImage(t.Context(), sqlcgen.CreateImageParams{Sandbox: id, Name: "img", Tag: &tag,
		Replace: true}))
	wantFile(t, pool, fromImage(t, q, tenant, "img:old"), "/g", "two")
	wantNoFile(t, pool, child, "/g")
}

func TestDropImage_freesWhatOnlyItUsed(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	owner := sqltest.Owner(t)
	tenant, id := tenantOf(t, q)
	write(t, q, id, "f", "f")
	layer := must[sqlcgen.FsFence](t)(q.Fence(t.Context(), id)).Layers[0]
	must[sqlcgen.FsImage](t)(q.CreateImage(t.Context(), sqlcgen.CreateImageParams{Sandbox: id, Name: "img"}))
	tag := "two"
	must[sqlcgen.FsImage](t)(q.TagImage(t.Context(), sqlcgen.TagImageParams{Tenant: tenant, Owner: "other", Image: "img",
		Name: "img", Tag: &tag}))
	if err := q.DropSandbox(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if rows(t, owner, layer) == 0 {
		t.Fatal("the image lost its layer")
	}
	child := fromImage(t, q, tenant, "img:two")
	drop := func(image, owner string) error {
		return q.DropImage(t.Context(), sqlcgen.DropImageParams{Tenant: tenant, Owner: owner, Image: image})
	}
	wantErrno(t, drop("img", "other"), vfs.EPERM)
	wantErrno(t, drop("none", "maker"), vfs.ENOENT)
	for image, owner := range map[string]string{"img": "maker", "img:two": "other"} {
		if err := drop(image, owner); err != nil {
			t.Fatal(err)
		}
	}
	if list := must[[]sqlcgen.FsImage](t)(q.ListImages(t.Context(),
		sqlcgen.ListImagesParams{Tenant: tenant})); len(list) != 0 {
		t.Fatalf("%+v", list)
	}
	wantFile(t, pool, child, "/f", "f")
	if err := q.DropSandbox(t.Context(), child); err != nil {
		t.Fatal(err)
	}
	if n := rows(t, owner, layer); n != 0 {
		t.Fatalf("%d rows are left", n)
	}
}

func TestTagImage_isTheOwners(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	tenant, id := tenantOf(t, q)
	must[sqlcgen.FsImage](t)(q.CreateImage(t.Context(), sqlcgen.CreateImageParams{Sandbox: id, Name: "a"}))
	write(t, q, id, "f", "f")
	must[sqlcgen.FsImage](t)(q.CreateImage(t.Context(), sqlcgen.CreateImageParams{Sandbox: id, Name: "b"}))
	tag := func(owner string) error {
		_, err := q.TagImage(t.Context(), sqlcgen.TagImageParams{Tenant: tenant, Owner: owner, Image: "b", Name: "a"})
		return err
	}
	wantErrno(t, tag("stranger"), vfs.EPERM)
	wantNoFile(t, pool, fromImage(t, q, tenant, "a"), "/f")
	if err := tag("maker"); err != nil {
		t.Fatal(err)
	}
	wantFile(t, pool, fromImage(t, q, tenant, "a"), "/f", "f")
	name := "a"
	list := must[[]sqlcgen.FsImage](t)(q.ListImages(t.Context(), sqlcgen.ListImagesParams{Tenant: tenant}))
	if len(list) != 2 || len(must[[]sqlcgen.FsImage](t)(q.ListImages(t.Context(),
		sqlcgen.ListImagesParams{Tenant: tenant, Name: &name}))) != 1 {
		t.Fatalf("%+v", list)
	}
	if n := len(must[[]sqlcgen.FsImage](t)(q.ListImages(t.Context(),
		sqlcgen.ListImagesParams{Tenant: "another-" + tenant}))); n != 0 {
		t.Fatalf("%d images of another tenant", n)
	}
}
