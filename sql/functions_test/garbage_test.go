package functions_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgbox/pgbox/gateway/vfs"
	"github.com/pgbox/pgbox/sql/sqltest"
)

// sensible are arguments that a function can do something with, by parameter and then by type.
var sensible = map[string]string{
	"p_sandbox": "pgbox_sandbox()", "p_from": "pgbox_sandbox()", "p_path": "'/f'", "p_image": "NULL", "p_at": "''",
	"p_base": "'@base'", "p_conflict": "'fail'",
	"uuid": "gen_random_uuid()", "uuid[]": "ARRAY[gen_random_uuid()]", "text": "'x'", "text[]": "'{}'", "bigint": "1",
	"integer": "1", "smallint": "1", "bigint[]": "'{}'",
	"integer[]": "'{}'", "smallint[]": "'{}'", "bytea": "'x'", "bytea[]": "'{}'", "boolean": "false", "jsonb": "'{}'",
	"interval": "'1 day'", "timestamp with time zone": "now()",
}

// garbage is what else there is of a type.
var garbage = map[string][]string{
	"uuid": {"'00000000-0000-0000-0000-000000000000'"}, "uuid[]": {"'{}'", "ARRAY[NULL]::uuid[]",
		"ARRAY[ARRAY[gen_random_uuid()]]", "array_fill(gen_random_uuid(), ARRAY[1000])"},
	"text": {"''", "'['", "'[[:nope:]]'", "'a{999999}'", "'('", "'\\'", "'*\\'", "'{'", "'[z-a]'", "'2026-99-99'",
		"'2026-01-01x'", "'99999999999999999999'", "repeat('x', 300)", "repeat('x', 100000)", "'/' || repeat('y', 5000)",
		"E'\\x01'", "'..'", "'@'", "'0-0'"},
	"text[]":    {"ARRAY[NULL]::text[]", "ARRAY['', 'x']", "ARRAY[repeat('x', 1000)]"},
	"bigint":    {"-1", "0", "9223372036854775807", "-9223372036854775808"},
	"integer":   {"-1", "0", "2147483647", "-2147483648"},
	"smallint":  {"-1", "32767"},
	"bigint[]":  {"ARRAY[NULL]::bigint[]", "ARRAY[-1]::bigint[]", "ARRAY[9223372036854775807]"},
	"integer[]": {"ARRAY[NULL]::integer[]", "ARRAY[-1]"}, "smallint[]": {"ARRAY[NULL]::smallint[]",
		"ARRAY[99]::smallint[]"},
	"bytea":   {"''", "decode('ff00', 'hex')", "decode(repeat('ab', 40), 'hex')"},
	"bytea[]": {"ARRAY[NULL]::bytea[]", "ARRAY['']::bytea[]", "ARRAY[decode('00', 'hex')]"},
	"jsonb": {"'7'", "'null'", "'[]'", "'[7]'", "'[[]]'", "'\"x\"'", `'{"commits": "x"}'`,
		`'{"commits": -1}'`, `'{"id": "x"}'`, `'[{"id": "x"}]'`, `'{"started_at": "x"}'`, `'[{"started_at": "x"}]'`,
		`'{"keep": 99999999999}'`, `'{"duration_us": "x"}'`},
	"interval":                 {"'-1 day'", "'0'", "'178000000 years'", "'-178000000 years'"},
	"timestamp with time zone": {"'infinity'", "'-infinity'", "'0001-01-01 BC'"},
}

// TestGarbageIsEINVAL: whatever a function of fs is called with, it answers, or refuses with an errno: what Postgres
// says of its own tables and operators is an internal error to a caller, and says nothing to a reader.
func TestGarbageIsEINVAL(t *testing.T) {
	t.Parallel()
	s := newScopeIn(t, sqltest.Database(t))
	sqltest.Broken(s.id)
	s.must("SELECT fs.write_file('/f', 'x')")
	s.must("SELECT fs.create_image($1, 'base')", s.id)
	type function struct {
		Name  string
		Args  []string
		Types []string
	}
	rows, err := s.admin.Query(t.Context(), `
		SELECT p.proname::text, p.proargnames[:p.pronargs], ARRAY(SELECT format_type(o, NULL) FROM unnest(p.proargtypes) WITH ORDINALITY AS u (o, n) ORDER BY n)
		  FROM pg_proc p WHERE p.pronamespace = 'fs'::regnamespace ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	functions, err := pgx.CollectRows(rows, pgx.RowToStructByPos[function])
	if err != nil {
		t.Fatal(err)
	}
	// fs.apply wants these to be right, or looks at nothing else.
	row := func(column string) string {
		return one[string](t, s.admin, "SELECT "+column+"::text FROM pgbox.sandbox WHERE id = $1", s.id)
	}
	fence := map[string]string{"p_version": row("version"), "p_next_ino": row("next_ino"),
		"p_used_bytes": row("used_bytes"), "p_used_inodes": row("used_inodes"),
		"p_changed_at": "'" + row("last_used_at") + "'"}
	var bad []string
	try := func(f function, args []string, what string) error {
		call := fmt.Sprintf("SELECT fs.%s(%s)", f.Name, strings.Join(args, ", "))
		if s.conn.IsClosed() {
			t.Fatalf("the connection broke before %s", call)
		}
		tx, err := s.conn.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback(t.Context()) }()
		if _, err := tx.Exec(t.Context(), "SET LOCAL statement_timeout = '20s'"); err != nil {
			t.Fatal(err)
		}
		_, err = tx.Exec(t.Context(), call)
		pe, ok := errors.AsType[*pgconn.PgError](err)
		if err != nil && (!ok || !strings.HasPrefix(pe.Code, "VF")) && !(ok && pe.Code == "42501") {
			bad = append(bad, fmt.Sprintf("%s %s: %v", f.Name, what, err))
		}
		return err
	}
	for _, f := range functions {
		plain := make([]string, len(f.Args))
		for i, arg := range f.Args {
			var v string
			if t := f.Types[i]; t == "text" || t == "uuid" {
				v = sensible[arg]
			}
			if v == "pgbox_sandbox()" {
				v = "'" + s.id.String() + "'"
			}
			if v == "" {
				v = sensible[f.Types[i]]
			}
			if f.Name == "apply" && fence[arg] != "" {
				v = fence[arg]
			}
			if v == "" {
				t.Fatalf("fs.%s has an argument of type %s", f.Name, f.Types[i])
			}
			plain[i] = v + "::" + f.Types[i]
		}
		if try(f, plain, "with nothing special") != nil && f.Name == "apply" {
			t.Error("no argument of apply was looked at but the first")
		}
		for i := range f.Args {
			for _, v := range append(slices.Clone(garbage[f.Types[i]]), "NULL") {
				args := slices.Clone(plain)
				args[i] = fmt.Sprintf("(%s)::%s", v, f.Types[i])
				_ = try(f, args, f.Args[i]+" = "+v)
			}
		}
	}
	for _, b := range bad {
		t.Error(b)
	}
}

// TestScope_garbage: the scope of a session is anybody's to set.
func TestScope_garbage(t *testing.T) {
	t.Parallel()
	s := newScope(t)
	for _, v := range []string{"garbage", "0", "{}", "'; DROP TABLE x; --"} {
		s.must("SELECT set_config('app.sandbox_id', $1, false)", v)
		for _, call := range []string{"SELECT fs.stat('/')", "SELECT fs.write_file('/f', 'x')", "SELECT * FROM fs.fsck()"} {
			s.fails(vfs.EINVAL, call)
		}
	}
}
