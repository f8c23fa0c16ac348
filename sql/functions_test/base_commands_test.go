package functions_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/pgbox/pgbox/gateway/shell"
	"github.com/pgbox/pgbox/gateway/shell/command"
	"github.com/pgbox/pgbox/sql/sqltest"
)

// The shell finds a command by its file in /usr/bin, so one that has none
// cannot be run: pgbox.base_commands() follows the registry.
func TestBaseCommands_holdEveryCommandOfTheShell(t *testing.T) {
	t.Parallel()
	var base []string
	if err := sqltest.Owner(t).QueryRow(t.Context(), "SELECT pgbox.base_commands()").Scan(&base); err != nil {
		t.Fatal(err)
	}
	want := slices.Concat(slices.Collect(maps.Keys(command.All())), shell.Programs())
	for _, name := range want {
		if !slices.Contains(base, name) {
			t.Errorf("%q is missing in sql/functions/base_commands.sql", name)
		}
	}
	for _, name := range base {
		if !slices.Contains(want, name) {
			t.Errorf("%q has a file in /usr/bin, but there is no such command", name)
		}
	}
	slices.Sort(base)
	if n := len(base); n != len(slices.Compact(base)) {
		t.Error("a command is listed twice")
	}
}
