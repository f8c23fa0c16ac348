package main

import (
	"fmt"
	"net/http"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
)

type sandboxInfo struct {
	ID         string  `json:"id"`
	Name       string  `json:"name"`
	CreatedAt  string  `json:"createdAt"`
	LastUsedAt *string `json:"lastUsedAt"`
}

func sandboxCommand(c *client) *cobra.Command {
	cmd := &cobra.Command{Use: "sandbox", Short: "Create, list and remove sandboxes"}
	var (
		from    string
		expires time.Duration
		past    history
	)
	create := &cobra.Command{
		Use: "create [NAME]", Short: "Create a sandbox and print its id", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			in := map[string]any{}
			if len(args) == 1 {
				in["name"] = args[0]
			}
			if from != "" {
				in["from"] = from
			}
			if expires != 0 {
				in["expiresIn"] = int64(expires / time.Second)
			}
			if past != (history{}) {
				in["history"] = past
			}
			var out sandboxInfo
			if err := c.call(cmd.Context(), http.MethodPost, "/v1/sandboxes", in, &out); err != nil {
				return err
			}
			return made(out.ID, out)
		},
	}
	create.Flags().StringVar(&from, "from", "", "image to start from: NAME or NAME:TAG")
	create.Flags().DurationVar(&expires, "expires", 0, "drop it after so long (at least 1s); by default it stays")
	past.flags(create)
	keep := &cobra.Command{
		Use:   "history ID",
		Short: "Let commits take automatic snapshots, for undo and earlier versions; without a flag no longer",
		Args:  cobra.ExactArgs(1),
	}
	past.flags(keep)
	keep.RunE = func(cmd *cobra.Command, args []string) error {
		return c.call(cmd.Context(), http.MethodPatch, sandboxPath(args[0], ""), map[string]any{"history": past}, nil)
	}
	list := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List your sandboxes, newest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := c.sandboxes(cmd.Context())
			if err != nil {
				return err
			}
			return rows(false, all, table.Row{"id", "name", "created"},
				func(s *sandboxInfo) table.Row { return table.Row{s.ID, s.Name, s.CreatedAt} })
		},
	}
	rm := &cobra.Command{
		Use: "rm ID...", Short: "Remove sandboxes and all their files", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, id := range args {
				if err := c.call(cmd.Context(), http.MethodDelete, sandboxPath(id, ""), nil, nil); err != nil {
					return fmt.Errorf("remove %s: %w", id, err)
				}
			}
			return nil
		},
	}
	cmd.AddCommand(create, keep, list, rm)
	return cmd
}

// history says when commits take automatic snapshots.
type history struct {
	Commits int32 `json:"commits,omitempty"`
	Seconds int32 `json:"seconds,omitempty"`
	Keep    int32 `json:"keep,omitempty"`
}

func (h *history) flags(cmd *cobra.Command) {
	cmd.Flags().Int32Var(&h.Commits, "history", 0,
		"automatic snapshot before a commit when the last is this many commits old; 1: every commit can be undone")
	cmd.Flags().Int32Var(&h.Seconds, "history-seconds", 0, "automatic snapshot before a commit when the last is this old")
	cmd.Flags().Int32Var(&h.Keep, "history-keep", 0, "how many automatic snapshots are kept (default 100)")
}
