package functions_test

import (
	"slices"
	"testing"

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
	for name := range command.All() {
		if !slices.Contains(base, name) {
			t.Errorf("%q is missing in sql/functions/base_commands.sql", name)
		}
	}
	slices.Sort(base)
	if n := len(base); n != len(slices.Compact(base)) {
		t.Error("a command is listed twice")
	}
}
