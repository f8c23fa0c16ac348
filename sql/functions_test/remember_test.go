package functions_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgbox/pgbox/sql/sqltest"
	"github.com/pgbox/pgbox/sqlcgen"
)

func TestRemember_onceForEachKeyOfAnOwner(t *testing.T) {
	t.Parallel()
	q, _ := queries(t)
	digest := sha256.Sum256([]byte("request"))
	p := sqlcgen.RememberParams{Tenant: "t", Owner: uuid.NewString(), Key: "k", Digest: digest[:],
		Result: []byte("answer\x00")}
	if err := q.Remember(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	var pg *pgconn.PgError
	if err := q.Remember(t.Context(), p); !errors.As(err, &pg) || pg.ConstraintName != "idempotency_pkey" {
		t.Fatalf("the second time: %v", err)
	}
	rows, err := q.Recall(t.Context(), sqlcgen.RecallParams{Tenant: "t", Owner: p.Owner, Keys: []string{"k", "other"}})
	if err != nil || len(rows) != 1 || rows[0].Key != "k" || !bytes.Equal(rows[0].Result, p.Result) ||
		!bytes.Equal(rows[0].Digest, p.Digest) {
		t.Fatalf("recalled %v, %v", rows, err)
	}
	for _, by := range []sqlcgen.RecallParams{{Tenant: "t", Owner: "somebody else", Keys: []string{"k"}},
		{Tenant: "another", Owner: p.Owner, Keys: []string{"k"}}} {
		if rows, err := q.Recall(t.Context(), by); err != nil || len(rows) != 0 {
			t.Errorf("%v recalled %v, %v", by, rows, err)
		}
	}
	p.Owner = uuid.NewString()
	if err := q.Remember(t.Context(), p); err != nil {
		t.Errorf("the key of another owner: %v", err)
	}
}

func TestRecall_answersGoAfterADay(t *testing.T) {
	t.Parallel()
	url := sqltest.Database(t)
	admin := sqltest.Connect(t, url)
	q := sqlcgen.New(sqltest.Connect(t, sqltest.GatewayURL(url)))
	digest := sha256.Sum256(nil)
	for _, key := range []string{"old", "new"} {
		if err := q.Remember(t.Context(), sqlcgen.RememberParams{Tenant: "t", Owner: "o", Key: key, Digest: digest[:],
			Result: []byte{1}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := admin.Exec(t.Context(),
		"UPDATE pgbox.idempotency SET created_at = now() - interval '25 hours' WHERE key = 'old'"); err != nil {
		t.Fatal(err)
	}
	if _, err := q.Expire(t.Context(), 10); err != nil {
		t.Fatal(err)
	}
	rows, err := q.Recall(t.Context(), sqlcgen.RecallParams{Tenant: "t", Owner: "o", Keys: []string{"old", "new"}})
	if err != nil || len(rows) != 1 || rows[0].Key != "new" {
		t.Fatalf("recalled %v, %v", rows, err)
	}
}
