package main

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
)

const stateHelp = "a snapshot by name or id, @base, a version (57 or @57) or a time (2026-01-31T12:00:00Z)"

func forkCommand(c *client) *cobra.Command {
	in := struct {
		Name  string `json:"name,omitempty"`
		Count int    `json:"count,omitempty"`
		At    string `json:"at,omitempty"`
	}{}
	cmd := &cobra.Command{
		Use: "fork ID", Short: "Make sandboxes that start as copies of another, and print their ids",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var out struct {
				sandboxInfo
				Forks []sandboxInfo `json:"forks"`
			}
			if err := c.call(cmd.Context(), http.MethodPost, sandboxPath(args[0], "/fork"), in, &out); err != nil {
				return err
			}
			if len(out.Forks) == 0 {
				out.Forks = []sandboxInfo{out.sandboxInfo}
			}
			if output.json {
				return rows(true, out.Forks, nil, nil)
			}
			for _, f := range out.Forks {
				fmt.Println(f.ID)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&in.Name, "name", "", "name of the forks; several get -1, -2, … after it")
	cmd.Flags().IntVarP(&in.Count, "count", "n", 1, "how many, at most 100")
	cmd.Flags().StringVar(&in.At, "at", "", "of an earlier state: "+stateHelp)
	return cmd
}

func snapshotCommand(c *client) *cobra.Command {
	cmd := &cobra.Command{Use: "snapshot", Short: "Keep states of a sandbox under names"}
	create := &cobra.Command{
		Use: "create ID NAME", Short: "Name the present state", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.call(cmd.Context(), http.MethodPost, sandboxPath(args[0], "/snapshots"),
				map[string]string{"name": args[1]}, nil)
		},
	}
	list := &cobra.Command{
		Use: "list ID", Aliases: []string{"ls"},
		Short: "List snapshots, oldest first; those whose names begin with @ were taken by commits", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			type snapshot struct {
				ID        string `json:"id"`
				Name      string `json:"name"`
				Version   int64  `json:"version"`
				CreatedAt string `json:"createdAt"`
			}
			var out struct {
				Snapshots []snapshot `json:"snapshots"`
			}
			if err := c.call(cmd.Context(), http.MethodGet, sandboxPath(args[0], "/snapshots"), nil, &out); err != nil {
				return err
			}
			return rows(false, out.Snapshots, table.Row{"name", "version", "created", "id"}, func(s *snapshot) table.Row {
				return table.Row{s.Name, s.Version, s.CreatedAt, s.ID}
			})
		},
	}
	rm := &cobra.Command{
		Use: "rm ID SNAPSHOT...", Short: "Forget snapshots, given by name or id", Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, s := range args[1:] {
				if err := c.call(cmd.Context(), http.MethodDelete, sandboxPath(args[0], "/snapshots/"+url.PathEscape(s)), nil,
					nil); err != nil {
					return fmt.Errorf("forget %s: %w", s, err)
				}
			}
			return nil
		},
	}
	cmd.AddCommand(create, list, rm)
	return cmd
}

func restoreCommand(c *client) *cobra.Command {
	return &cobra.Command{
		Use: "restore ID STATE", Short: "Bring a sandbox back to an earlier state; undo takes it back",
		Args: cobra.ExactArgs(2), Long: "STATE is " + stateHelp + ".",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.call(cmd.Context(), http.MethodPost, sandboxPath(args[0], "/restore"),
				map[string]string{"at": args[1]}, nil)
		},
	}
}

func flattenCommand(c *client) *cobra.Command {
	return &cobra.Command{
		Use: "flatten ID", Short: "Merge the layers of a sandbox into one, for faster cold loads; no file changes",
		Args: cobra.ExactArgs(1),
		Long: "Merge the layers of a sandbox into one over the base layer. That copies their rows, and makes the first run on a server that does not know the sandbox cheaper. Snapshots and forks keep their layers, and no file changes.",
		RunE: func(cmd *cobra.Command, args []string) error {
			var out struct {
				Before int `json:"layersBefore"`
				After  int `json:"layers"`
			}
			if err := c.call(cmd.Context(), http.MethodPost, sandboxPath(args[0], "/flatten"), nil, &out); err != nil {
				return err
			}
			fmt.Printf("%d layers, were %d\n", out.After, out.Before)
			return nil
		},
	}
}

func undoCommand(c *client) *cobra.Command {
	return stepCommand(c, "undo", "Take back what was committed since the newest automatic snapshots")
}

func redoCommand(c *client) *cobra.Command {
	return stepCommand(c, "redo", "Bring back what undo took away")
}

func stepCommand(c *client, verb, short string) *cobra.Command {
	var steps int
	cmd := &cobra.Command{
		Use: verb + " ID", Short: short, Args: cobra.ExactArgs(1),
		Long: short + ". Prints what each step did: the runs, and how many paths changed. Runs that changed no file (cd, export) are no steps.",
		RunE: func(cmd *cobra.Command, args []string) error {
			type run struct {
				Version int64  `json:"version"`
				Script  string `json:"script"`
				Caller  string `json:"caller"`
				Agent   string `json:"agent,omitempty"`
				Route   string `json:"route"`
				At      string `json:"at"`
			}
			type step struct {
				Version int64    `json:"version"`
				First   int64    `json:"first"`
				Last    int64    `json:"last"`
				Runs    []run    `json:"runs"`
				Paths   []string `json:"paths"`
				Total   int      `json:"total"`
			}
			var out struct {
				Steps []step `json:"steps"`
			}
			if err := c.call(cmd.Context(), http.MethodPost, sandboxPath(args[0], "/"+verb), map[string]int{"steps": steps},
				&out); err != nil {
				return err
			}
			return rows(false, out.Steps, table.Row{"version", verb + " of", "caller", "paths", "script"},
				func(s *step) table.Row {
					var by, scripts []string
					for _, r := range s.Runs {
						by = append(by, r.Caller)
						scripts = append(scripts, brief(cmp.Or(r.Script, r.Route)))
					}
					slices.Sort(by)
					return table.Row{s.Version, fmt.Sprintf("%d-%d", s.First, s.Last), strings.Join(slices.Compact(by), ", "), s.Total,
						strings.Join(scripts, "; ")}
				})
		},
	}
	cmd.Flags().IntVarP(&steps, "steps", "n", 1, "how many")
	return cmd
}
