package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
)

// output is how the sub-commands of clients print lists.
var output struct {
	json  bool
	quiet bool // the first column only
}

// outputFlags gives --json and --quiet to a command and those below it, where they have none of their own.
func outputFlags(cmd *cobra.Command) {
	if cmd.Flags().Lookup("json") == nil && cmd.PersistentFlags().Lookup("json") == nil {
		cmd.PersistentFlags().BoolVar(&output.json, "json", false, "print JSON")
	}
	if cmd.Flags().Lookup("quiet") == nil && cmd.PersistentFlags().Lookup("quiet") == nil {
		cmd.PersistentFlags().BoolVarP(&output.quiet, "quiet", "q", false, "print names or ids only; no progress")
	}
}

// terminal reports whether a person reads or types there.
func terminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// rows prints a list: as a table on a terminal, otherwise as lines of cells with tabs between them; or what it was made
// from as JSON.
func rows[T any](asJSON bool, list []T, header table.Row, row func(*T) table.Row) error {
	if asJSON || output.json {
		if list == nil {
			list = []T{}
		}
		return json.NewEncoder(os.Stdout).Encode(list)
	}
	if output.quiet || !terminal(os.Stdout) {
		return plain(os.Stdout, list, row)
	}
	t := table.NewWriter()
	t.SetOutputMirror(os.Stdout)
	t.SetStyle(table.StyleLight)
	t.AppendHeader(header)
	for i := range list {
		t.AppendRow(row(&list[i]))
	}
	t.Render()
	return nil
}

// plain prints lines that programs can cut: what is in a cell has no tabs or newlines.
func plain[T any](w io.Writer, list []T, row func(*T) table.Row) error {
	clean := strings.NewReplacer("\t", " ", "\n", " ", "\r", " ")
	for i := range list {
		var cells []string
		for _, v := range row(&list[i]) {
			cells = append(cells, clean.Replace(fmt.Sprint(v)))
		}
		if output.quiet {
			cells = cells[:1]
		}
		if _, err := fmt.Fprintln(w, strings.Join(cells, "\t")); err != nil {
			return err
		}
	}
	return nil
}

// made prints what was made: its id, or all that is known of it as JSON.
func made(id string, all any) error {
	if output.json {
		return json.NewEncoder(os.Stdout).Encode(all)
	}
	_, err := fmt.Println(id)
	return err
}

// usageError is a command line that means nothing; its status is 2.
type usageError struct{ error }

// strict makes a wrong command line an error of its own kind, everywhere below cmd: unknown sub-commands, wrong flags
// and arguments.
func strict(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%s: %w", cmd.CommandPath(), err)}
	})
	check := cmd.Args
	switch {
	case cmd.HasSubCommands() && !cmd.Runnable():
		cmd.Args = cobra.ArbitraryArgs
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			err := fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath())
			if like := cmd.SuggestionsFor(args[0]); len(like) > 0 {
				err = fmt.Errorf("%w; did you mean %s?", err, strings.Join(like, " or "))
			}
			return usageError{err}
		}
	case check != nil:
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return usageError{fmt.Errorf("%s: %w\nusage: %s", cmd.CommandPath(), err, cmd.UseLine())}
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		strict(sub)
	}
}

// status is what the process exits with after an error.
func status(err error) int {
	var wrong usageError
	if errors.As(err, &wrong) {
		return 2
	}
	return 1
}
