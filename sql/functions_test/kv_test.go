package functions_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/sql/sqltest"
	"github.com/pgbox/pgbox/sqlcgen"
)

func kvSet(t *testing.T, q *sqlcgen.Queries, id uuid.UUID, key, value string) int64 {
	t.Helper()
	return must[int64](t)(q.KvSet(t.Context(), sqlcgen.KvSetParams{Sandbox: id, Key: key, Value: json.RawMessage(value)}))
}

// keys are the keys of a sandbox that begin with prefix, as key=value.
func keys(t *testing.T, q *sqlcgen.Queries, id uuid.UUID, prefix string) []string {
	t.Helper()
	var out []string
	for _, r := range must[[]sqlcgen.FsKeyValue](t)(q.KvList(t.Context(),
		sqlcgen.KvListParams{Sandbox: id, Prefix: prefix, MaxRows: 100})) {
		out = append(out, r.Key+"="+string(r.Value))
	}
	return out
}

func wantKeys(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
}

func TestKv_forksAndIsRestoredWithTheSandbox(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := sqltest.Sandbox(t, pool)
	kvSet(t, q, id, "a/1", `{"n": 1}`)
	kvSet(t, q, id, "a/2", `"two"`)
	kvSet(t, q, id, "b", `[3]`)
	child := forked(t, q, id)
	if err := q.KvDelete(t.Context(), sqlcgen.KvDeleteParams{Sandbox: child, Key: "a/1"}); err != nil {
		t.Fatal(err)
	}
	kvSet(t, q, child, "a/3", `3`)
	wantKeys(t, keys(t, q, id, "a/"), `a/1={"n": 1}`, `a/2="two"`)
	wantKeys(t, keys(t, q, child, ""), `a/2="two"`, `a/3=3`, `b=[3]`)
	_, err := q.KvGet(t.Context(), sqlcgen.KvGetParams{Sandbox: child, Key: "a/1"})
	wantErrno(t, err, vfs.ENOENT)
	wantErrno(t, q.KvDelete(t.Context(), sqlcgen.KvDeleteParams{Sandbox: child, Key: "a/1"}), vfs.ENOENT)

	must[sqlcgen.FsSandbox](t)(q.Restore(t.Context(), sqlcgen.RestoreParams{Sandbox: child, At: "@base"}))
	wantKeys(t, keys(t, q, child, "a/"), `a/1={"n": 1}`, `a/2="two"`)
	must[int32](t)(q.Flatten(t.Context(), child))
	wantKeys(t, keys(t, q, child, "a/"), `a/1={"n": 1}`, `a/2="two"`)
	must[sqlcgen.FsSandbox](t)(q.Undo(t.Context(), sqlcgen.UndoParams{Sandbox: child, Steps: 1}))
	wantKeys(t, keys(t, q, child, "a/"), `a/2="two"`, `a/3=3`)

	page := must[[]sqlcgen.FsKeyValue](t)(q.KvList(t.Context(),
		sqlcgen.KvListParams{Sandbox: child, MaxRows: 1, After: "a/2"}))
	if len(page) != 1 || page[0].Key != "a/3" {
		t.Fatalf("%+v", page)
	}
}

func TestKvSet_comparesAndSets(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := sqltest.Sandbox(t, pool)
	set := func(value string, version *int64, expect string) (int64, error) {
		p := sqlcgen.KvSetParams{Sandbox: id, Key: "k", Value: json.RawMessage(value), ExpectVersion: version}
		if expect != "" {
			p.ExpectValue = json.RawMessage(expect)
		}
		return q.KvSet(t.Context(), p)
	}
	var none int64
	one := must[int64](t)(set("1", &none, ""))
	_, err := set("2", &none, "")
	wantErrno(t, err, vfs.ESTALE)
	_, err = set("2", nil, "5")
	wantErrno(t, err, vfs.ESTALE)
	two := must[int64](t)(set("2", &one, "1"))
	if two <= one {
		t.Fatalf("version %d after %d", two, one)
	}
	_, err = set("3", &one, "")
	wantErrno(t, err, vfs.ESTALE)
	wantErrno(t, q.KvDelete(t.Context(), sqlcgen.KvDeleteParams{Sandbox: id, Key: "k", ExpectVersion: &one}), vfs.ESTALE)
	// A fork counts its own versions from 0; those of its keys go on, so that an old one never comes back.
	for range 5 {
		kvSet(t, q, id, "k", "2")
	}
	parent := must[sqlcgen.FsKeyValue](t)(q.KvGet(t.Context(), sqlcgen.KvGetParams{Sandbox: id, Key: "k"})).Version
	if v := kvSet(t, q, forked(t, q, id), "k", "4"); v <= parent {
		t.Fatalf("version %d after %d", v, parent)
	}
	if err := q.KvDelete(t.Context(), sqlcgen.KvDeleteParams{Sandbox: id, Key: "k", ExpectVersion: &parent}); err != nil {
		t.Fatal(err)
	}
}

func TestKvSet_countsAgainstTheQuota(t *testing.T) {
	t.Parallel()
	q, pool := queries(t)
	id := sqltest.Sandbox(t, pool)
	limit := int64(20)
	must[sqlcgen.FsSandbox](t)(q.UpdateSandbox(t.Context(), sqlcgen.UpdateSandboxParams{Sandbox: id, MaxBytes: &limit,
		Clear: []string{}}))
	kvSet(t, q, id, "key", `"1234567890"`)
	if f := must[sqlcgen.FsFence](t)(q.Fence(t.Context(), id)); f.UsedBytes != 15 {
		t.Fatalf("%d bytes", f.UsedBytes)
	}
	_, err := q.KvSet(t.Context(), sqlcgen.KvSetParams{Sandbox: id, Key: "more", Value: json.RawMessage(`12`)})
	wantErrno(t, err, vfs.EDQUOT)
	kvSet(t, q, id, "key", `1`)
	kvSet(t, q, id, "more", `12`)
	for _, key := range []string{"", strings.Repeat("k", 1025)} {
		_, err := q.KvSet(t.Context(), sqlcgen.KvSetParams{Sandbox: id, Key: key, Value: json.RawMessage("1")})
		wantErrno(t, err, vfs.EINVAL)
	}
	_, err = q.KvSet(t.Context(), sqlcgen.KvSetParams{Sandbox: id, Key: "k",
		Value: json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)})
	wantErrno(t, err, vfs.EFBIG)
}
