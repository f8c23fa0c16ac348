package functions_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pglogrepl"
	"github.com/jackc/pgx/v5"

	"github.com/pgbox/pgbox/sql/sqltest"
	"github.com/pgbox/pgbox/sqlcgen"
)

// What a listener hears of a commit is enough to patch a tree: each row change
// carries its key, the key of a name that moved included, and the sandbox row its version.
func TestPublication_carriesTheKeysOfWhatChanged(t *testing.T) {
	t.Parallel()
	u := sqltest.Database(t)
	owner := sqltest.Connect(t, u)
	conn := sqltest.Connect(t, sqltest.GatewayURL(u))
	q := sqlcgen.New(conn)
	id := create(t, q, sqlcgen.CreateSandboxParams{Name: "heard"}).ID
	write(t, q, id, "from", "content")
	slot := fmt.Sprintf("test_%x", uuid.New())
	if _, err := owner.Exec(t.Context(), "SELECT pg_create_logical_replication_slot($1, 'pgoutput', true)",
		slot); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = owner.Exec(context.Background(), "SELECT pg_drop_replication_slot($1)", slot) }()

	if err := pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), "SELECT fs.use($1)", id); err != nil {
			return err
		}
		_, err := tx.Exec(t.Context(), "SELECT fs.mv('/from', '/to')")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	rows, err := owner.Query(t.Context(),
		"SELECT data FROM pg_logical_slot_get_binary_changes($1, NULL, NULL, 'proto_version', '1', 'publication_names', 'pgbox')", slot)
	if err != nil {
		t.Fatal(err)
	}
	messages, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	if err != nil {
		t.Fatal(err)
	}
	names := map[uint32]*pglogrepl.RelationMessage{}
	// name of a dirent row in a tuple
	name := func(rel uint32, tuple *pglogrepl.TupleData) string {
		for i, c := range names[rel].Columns {
			if c.Name == "name" {
				return string(tuple.Columns[i].Data)
			}
		}
		return ""
	}
	var heard []string
	for _, m := range messages {
		msg, err := pglogrepl.Parse(m)
		if err != nil {
			t.Fatal(err)
		}
		switch m := msg.(type) {
		case *pglogrepl.RelationMessage:
			names[m.RelationID] = m
		case *pglogrepl.InsertMessage:
			if names[m.RelationID].RelationName == "dirent" {
				heard = append(heard, "insert "+name(m.RelationID, m.Tuple))
			}
		case *pglogrepl.DeleteMessage:
			if names[m.RelationID].RelationName == "dirent" {
				heard = append(heard, "delete "+name(m.RelationID, m.OldTuple))
			}
		case *pglogrepl.UpdateMessage:
			switch names[m.RelationID].RelationName {
			case "sandbox":
				heard = append(heard, "version")
			case "dirent":
				if m.OldTuple != nil {
					heard = append(heard, "delete "+name(m.RelationID, m.OldTuple))
				}
				heard = append(heard, "insert "+name(m.RelationID, m.NewTuple))
			}
		}
	}
	slices.Sort(heard)
	if !slices.Equal(heard, []string{"delete from", "insert to", "version"}) {
		t.Fatalf("heard %q", heard)
	}
}
