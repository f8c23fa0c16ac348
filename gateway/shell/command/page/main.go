// Command page writes COMMANDS.md, the page of what the shell understands, from the tables beside the code.
package main

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell"
	"github.com/pgbox/pgbox/gateway/shell/command"
)

func main() {
	out := flag.String("o", "", "file to write")
	check := flag.String("check", "", "file to compare; a difference is an error")
	flag.Parse()
	if err := run(*out, *check); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(out, check string) error {
	text := page()
	if check != "" {
		old, err := os.ReadFile(check)
		if err != nil {
			return err
		}
		if !bytes.Equal(old, text) {
			return fmt.Errorf("%s is not what the tables say: run make generate", check)
		}
		return nil
	}
	return os.WriteFile(out, text, 0o644)
}

// cell makes a text safe inside a table.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func page() []byte {
	var b bytes.Buffer
	b.WriteString("# Commands\n\nWritten by `make generate` from gateway/shell/usage.go and the tables of gateway/shell/program; do not edit.\n\n" +
		"The shell is bash 5.2 as on Debian 12, the programs are those of its GNU packages; what is known to differ is said here.\n\n## Language\n\n")
	for _, d := range shell.Differences() {
		b.WriteString("* " + d + "\n")
	}
	b.WriteString("\n## Builtins\n\n| synopsis | does | differs |\n|---|---|---|\n")
	for _, u := range shell.Usages() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", cell(u.Synopsis), cell(u.Does), cell(u.Differ))
	}
	all := command.All()
	table := command.Table()
	names := slices.Collect(maps.Keys(all))
	for _, n := range shell.Programs() {
		if all[n] == nil {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	b.WriteString("\n## Programs\n\n| name | does | differs |\n|---|---|---|\n")
	does := map[string]string{"bash": "the shell itself", "sh": "the shell in POSIX mode"}
	for _, u := range shell.Usages() {
		does[u.Name] = u.Does
	}
	for _, n := range names {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", n, cell(cmp.Or(table[n].Does, does[n])), cell(table[n].Differ))
	}
	absent := shell.Absent()
	b.WriteString("\n## Absent\n\nThese answer \"command not found\" with what to use instead, and status 127; `command -v` does not find them.\n\n" +
		"| name | instead |\n|---|---|\n")
	for _, n := range slices.Sorted(maps.Keys(absent)) {
		fmt.Fprintf(&b, "| `%s` | %s |\n", n, cell(absent[n]))
	}
	return b.Bytes()
}
