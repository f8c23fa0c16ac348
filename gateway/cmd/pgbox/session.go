package main

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
)

func sessionCommand(c *client) *cobra.Command {
	type session struct {
		Name       string `json:"name"`
		Cwd        string `json:"cwd"`
		Variables  int    `json:"variables"`
		Bytes      int64  `json:"bytes"`
		LastUsedAt string `json:"lastUsedAt"`
		ExpiresAt  string `json:"expiresAt"`
	}
	var asJSON bool
	cmd := &cobra.Command{Use: "session", Short: "Named sessions of a sandbox: what `exec --session NAME` goes on with"}
	list := &cobra.Command{
		Use: "ls ID", Aliases: []string{"list"}, Short: "List the sessions of a sandbox", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var out struct {
				Sessions []session `json:"sessions"`
			}
			if err := c.call(cmd.Context(), http.MethodGet, sandboxPath(args[0], "/sessions"), nil, &out); err != nil {
				return err
			}
			return rows(asJSON, out.Sessions, table.Row{"name", "cwd", "variables", "bytes", "last used", "expires"},
				func(s *session) table.Row {
					return table.Row{s.Name, s.Cwd, s.Variables, s.Bytes, s.LastUsedAt, s.ExpiresAt}
				})
		},
	}
	list.Flags().BoolVar(&asJSON, "json", false, "print an array of objects")
	rm := &cobra.Command{
		Use: "rm ID NAME...", Short: "Forget sessions; the next script that names one begins afresh",
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range args[1:] {
				if err := c.call(cmd.Context(), http.MethodDelete, sandboxPath(args[0], "/sessions/"+url.PathEscape(name)), nil,
					nil); err != nil {
					return fmt.Errorf("remove %s: %w", name, err)
				}
			}
			return nil
		},
	}
	cmd.AddCommand(list, rm)
	return cmd
}
