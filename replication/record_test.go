package replication_test

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pgbox/pgbox/replication"
	"github.com/pgbox/pgbox/sql/sqltest"
)

var record = flag.Bool("record", false, "record the golden files anew, from a real server")

// What the golden files are recorded from: name, statements.
var recordings = []struct {
	name       string
	statements []string
}{
	{"insert", []string{"INSERT INTO t VALUES (1, 'text'), (2, NULL), (3, '')"}},
	{"update", []string{"INSERT INTO t VALUES (1, repeat('x', 3000))", "UPDATE t SET k = 2", "UPDATE t SET v = 'short'",
		"UPDATE t SET v = NULL"}},
	{"delete", []string{"INSERT INTO t VALUES (1, 'x')", "DELETE FROM t"}},
	{"full", []string{"ALTER TABLE t REPLICA IDENTITY FULL", "INSERT INTO t VALUES (1, 'x')", "UPDATE t SET v = 'y'",
		"DELETE FROM t"}},
	{"truncate", []string{"TRUNCATE t"}},
	{"subtransaction",
		[]string{"BEGIN; INSERT INTO t VALUES (1, 'a'); SAVEPOINT s; INSERT INTO t VALUES (2, 'undone'); ROLLBACK TO s; INSERT INTO t VALUES (3, 'b'); COMMIT"}},
	{"schema", []string{"INSERT INTO t VALUES (1, 'a')", "ALTER TABLE t ADD w uuid",
		"INSERT INTO t VALUES (2, 'b', '00112233-4455-6677-8899-aabbccddeeff')"}},
	{"types", []string{
		"ALTER TABLE t ADD j jsonb, ADD a uuid[], ADD z timestamptz, ADD b bytea, ADD s smallint, ADD l bigint",
		`INSERT INTO t VALUES (1, 'a', '{"k": [1]}', '{00112233-4455-6677-8899-aabbccddeeff}', '2026-01-02 03:04:05.6+00', '\x0001ff', -1, 1099511627776)`,
	}},
}

// A golden file holds messages in hex, each followed by what it decodes to.
func TestGolden(t *testing.T) {
	if *record {
		for _, r := range recordings {
			writeGolden(t, r.name, r.statements)
		}
	}
	for _, r := range recordings {
		t.Run(r.name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata", r.name+".golden"))
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
			var d replication.Decoder
			for i := 0; i+1 < len(lines); i += 2 {
				b, err := hex.DecodeString(lines[i])
				if err != nil {
					t.Fatal(err)
				}
				if got := describe(&d, b); got != lines[i+1] {
					t.Errorf("%s\ndecodes to %s\nwant       %s", lines[i], got, lines[i+1])
				}
			}
			if len(lines) < 6 {
				t.Fatalf("%d lines", len(lines))
			}
		})
	}
}

// writeGolden records what a server sends for some statements.
func writeGolden(t *testing.T, name string, statements []string) {
	t.Helper()
	conn := sqltest.Connect(t, sqltest.EmptyDatabase(t))
	do(t, conn, "CREATE TABLE t (k int PRIMARY KEY, v text)", "ALTER TABLE t ALTER v SET STORAGE EXTERNAL",
		"CREATE PUBLICATION p FOR TABLE t")
	do(t, conn, "SELECT pg_create_logical_replication_slot('golden', 'pgoutput', true)")
	do(t, conn, statements...)
	rows, err := conn.Query(t.Context(),
		"SELECT data FROM pg_logical_slot_get_binary_changes('golden', NULL, NULL, 'proto_version', '1', 'binary', 'true', 'publication_names', 'p')")
	if err != nil {
		t.Fatal(err)
	}
	messages, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	if err != nil {
		t.Fatal(err)
	}
	do(t, conn, "SELECT pg_drop_replication_slot('golden')")
	var out bytes.Buffer
	var d replication.Decoder
	for _, m := range messages {
		fmt.Fprintf(&out, "%x\n%s\n", m, describe(&d, m))
	}
	if err := os.WriteFile(filepath.Join("testdata", name+".golden"), out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// describe decodes a message and prints it.
func describe(d *replication.Decoder, b []byte) string {
	m, err := d.Decode(b)
	if err != nil {
		return "error: " + err.Error()
	}
	tuple := func(t replication.Tuple) string {
		if t == nil {
			return "-"
		}
		out := make([]string, len(t))
		for i, v := range t {
			out[i] = fmt.Sprintf("%c:%q", v.Kind, v.Data)
			if len(v.Data) > 64 {
				out[i] = fmt.Sprintf("%c:%d bytes", v.Kind, len(v.Data))
			}
		}
		return "(" + strings.Join(out, " ") + ")"
	}
	switch m := m.(type) {
	case *replication.Begin:
		return fmt.Sprintf("begin %s %s %d", m.Final, m.Time.Format("2006-01-02T15:04:05.999999Z07:00"), m.XID)
	case *replication.Commit:
		return fmt.Sprintf("commit %s %s %s", m.LSN, m.End, m.Time.Format("2006-01-02T15:04:05.999999Z07:00"))
	case *replication.Relation:
		return fmt.Sprintf("relation %d %s.%s %c %v", m.ID, m.Namespace, m.Name, m.Identity, m.Columns)
	case *replication.Insert:
		return fmt.Sprintf("insert %d %s", m.Relation, tuple(m.New))
	case *replication.Update:
		return fmt.Sprintf("update %d %s %s", m.Relation, tuple(m.Old), tuple(m.New))
	case *replication.Delete:
		return fmt.Sprintf("delete %d %s", m.Relation, tuple(m.Old))
	case *replication.Truncate:
		return fmt.Sprintf("truncate %v", m.Relations)
	case *replication.Other:
		return fmt.Sprintf("other %c", m.Kind)
	}
	return fmt.Sprintf("%T", m)
}

// Whatever comes, decoding neither panics nor takes memory beyond what the message is worth; a message that decodes
// does so again, and none of its prefixes does.
func FuzzDecode(f *testing.F) {
	files, err := filepath.Glob("testdata/*.golden")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for i, line := range strings.Split(string(data), "\n") {
			if b, err := hex.DecodeString(line); err == nil && i%2 == 0 {
				f.Add(b)
			}
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var d replication.Decoder
		first := describe(&d, b)
		if again := describe(&d, b); again != first {
			t.Fatalf("%q, then %q", first, again)
		}
		if strings.HasPrefix(first, "error") || strings.HasPrefix(first, "other") {
			return
		}
		for n := range b {
			if got := describe(&d, b[:n]); !strings.HasPrefix(got, "error") {
				t.Fatalf("%d of %d bytes decode to %q", n, len(b), got)
			}
		}
	})
}
