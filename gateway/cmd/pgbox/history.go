package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
)

type run struct {
	ID            string `json:"id"`
	Route         string `json:"route"`
	Caller        string `json:"caller"`
	Agent         string `json:"agent"`
	Script        string `json:"script"`
	ReadOnly      bool   `json:"readOnly"`
	ExitCode      *int   `json:"exitCode"`
	Error         string `json:"error"`
	StartedAt     string `json:"startedAt"`
	DurationMs    int64  `json:"durationMs"`
	VersionBefore int64  `json:"versionBefore"`
	VersionAfter  int64  `json:"versionAfter"`
	Committed     bool   `json:"committed"`
}

// brief is a script as a table shows it: its first line, cut.
func brief(script string) string {
	line, more, _ := strings.Cut(strings.TrimSpace(script), "\n")
	if r := []rune(line); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	if more != "" {
		return line + " …"
	}
	return line
}

func timelineCommand(c *client) *cobra.Command {
	var (
		limit                                           int
		since                                           time.Duration
		caller, route, script                           string
		committed, unchanged, failed, succeeded, asJSON bool
	)
	cmd := &cobra.Command{
		Use: "timeline ID", Short: "List what was run in a sandbox, newest first", Args: cobra.ExactArgs(1),
		Long: "List what was run in a sandbox, newest first. Filters apply before the limit: --failed --limit 5 are the last five failures.",
		RunE: func(cmd *cobra.Command, args []string) error {
			q := url.Values{}
			for name, v := range map[string]string{"caller": caller, "route": route, "script": script} {
				if v != "" {
					q.Set(name, v)
				}
			}
			if since > 0 {
				q.Set("since", time.Now().Add(-since).UTC().Format(time.RFC3339Nano))
			}
			if committed || unchanged {
				q.Set("committed", strconv.FormatBool(committed))
			}
			if failed || succeeded {
				q.Set("failed", strconv.FormatBool(failed))
			}
			list := []json.RawMessage{}
			for len(list) < limit {
				q.Set("limit", strconv.Itoa(min(limit-len(list), 1000)))
				var page struct {
					Execs      []json.RawMessage `json:"execs"`
					NextCursor string            `json:"nextCursor"`
				}
				if err := c.call(cmd.Context(), http.MethodGet, sandboxPath(args[0], "/execs?"+q.Encode()), nil,
					&page); err != nil {
					return err
				}
				list = append(list, page.Execs...)
				if page.NextCursor == "" {
					break
				}
				q.Set("cursor", page.NextCursor)
			}
			runs := make([]run, len(list))
			for i := range list {
				if err := json.Unmarshal(list[i], &runs[i]); err != nil {
					return err
				}
			}
			if asJSON {
				return json.NewEncoder(os.Stdout).Encode(list)
			}
			return rows(false, runs, table.Row{"started", "ms", "caller", "route", "status", "version", "script"},
				func(r *run) table.Row {
					status := r.Error
					if status == "" && r.ExitCode != nil {
						status = strconv.Itoa(*r.ExitCode)
					}
					version := fmt.Sprint(r.VersionBefore)
					if r.Committed {
						version += fmt.Sprintf(" → %d", r.VersionAfter)
					}
					return table.Row{r.StartedAt, r.DurationMs, who(r.Caller, r.Agent), r.Route, status, version, brief(r.Script)}
				})
		},
	}
	f := cmd.Flags()
	f.IntVarP(&limit, "limit", "n", 50, "at most so many")
	f.DurationVar(&since, "since", 0, "only what began at most so long ago")
	f.StringVar(&caller, "caller", "", "only of this caller")
	f.StringVar(&route, "route", "", "only through this route (exec, exec-sync, …)")
	f.StringVar(&script, "script", "", "only scripts that hold this text")
	f.BoolVar(&committed, "committed", false, "only what changed the sandbox")
	f.BoolVar(&unchanged, "unchanged", false, "only what did not")
	f.BoolVar(&failed, "failed", false, "only what was ended or has an exit status other than 0")
	f.BoolVar(&succeeded, "succeeded", false, "only what was not")
	f.BoolVar(&asJSON, "json", false, "print an array of objects")
	cmd.MarkFlagsMutuallyExclusive("committed", "unchanged")
	cmd.MarkFlagsMutuallyExclusive("failed", "succeeded")
	return cmd
}

type touch struct {
	Version    int64  `json:"version"`
	Seq        int32  `json:"seq"`
	Op         string `json:"op"`
	Path       string `json:"path"`
	PathTo     string `json:"pathTo,omitempty"`
	SizeBefore *int64 `json:"sizeBefore"`
	SizeAfter  *int64 `json:"sizeAfter"`
	HashBefore string `json:"hashBefore,omitempty"`
	HashAfter  string `json:"hashAfter,omitempty"`
	Exec       string `json:"execId,omitempty"`
	Caller     string `json:"caller,omitempty"`
	Agent      string `json:"agent,omitempty"`
	Route      string `json:"route,omitempty"`
	Script     string `json:"script,omitempty"`
	At         string `json:"at"`
}

// by says who did something.
func by(caller, agent, exec string) string {
	if exec == "" {
		return strings.TrimSpace(caller + " (SQL)")
	}
	return who(caller, agent)
}

// who names a caller and its agent.
func who(caller, agent string) string {
	if agent == "" {
		return caller
	}
	return caller + "/" + agent
}

func logCommand(c *client) *cobra.Command {
	var (
		limit  int
		asJSON bool
	)
	cmd := &cobra.Command{
		Use: "log ID PATH", Short: "List what happened to a file, newest first", Args: cobra.ExactArgs(2),
		Long: "List what happened to a path and to the file that has it now (under other names, too), newest first, with the run that did it.",
		RunE: func(cmd *cobra.Command, args []string) error {
			q, list := url.Values{"path": {args[1]}}, []touch{}
			for len(list) < limit {
				q.Set("limit", strconv.Itoa(min(limit-len(list), 1000)))
				var page struct {
					Changes    []touch `json:"changes"`
					NextCursor string  `json:"nextCursor"`
				}
				if err := c.call(cmd.Context(), http.MethodGet, sandboxPath(args[0], "/history?"+q.Encode()), nil,
					&page); err != nil {
					return err
				}
				list = append(list, page.Changes...)
				if page.NextCursor == "" {
					break
				}
				q.Set("cursor", page.NextCursor)
			}
			return rows(asJSON, list, table.Row{"version", "at", "op", "path", "bytes", "content", "by", "script"},
				func(t *touch) table.Row {
					path, bytes := t.Path, ""
					if t.PathTo != "" {
						path += " → " + t.PathTo
					}
					if t.SizeAfter != nil {
						bytes = fmt.Sprint(*t.SizeAfter)
					}
					return table.Row{t.Version, t.At, t.Op, path, bytes, t.HashAfter[:min(12, len(t.HashAfter))],
						by(t.Caller, t.Agent, t.Exec), brief(t.Script)}
				})
		},
	}
	cmd.Flags().IntVarP(&limit, "limit", "n", 50, "at most so many")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print an array of objects")
	return cmd
}

func blameCommand(c *client) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "blame ID [PATH]", Short: "List who wrote each file last", Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			q := url.Values{"path": {"/"}}
			if len(args) == 2 {
				q.Set("path", args[1])
			}
			type file struct {
				Path    string  `json:"path"`
				Size    int64   `json:"size"`
				Version int64   `json:"version"`
				At      *string `json:"at"`
				Exec    string  `json:"execId,omitempty"`
				Caller  string  `json:"caller,omitempty"`
				Agent   string  `json:"agent,omitempty"`
				Route   string  `json:"route,omitempty"`
				Script  string  `json:"script,omitempty"`
			}
			var out struct {
				Files []file `json:"files"`
			}
			if err := c.call(cmd.Context(), http.MethodGet, sandboxPath(args[0], "/blame?"+q.Encode()), nil, &out); err != nil {
				return err
			}
			return rows(asJSON, out.Files, table.Row{"path", "bytes", "version", "at", "by", "script"}, func(f *file) table.Row {
				if f.At == nil {
					return table.Row{f.Path, f.Size, "", "", "(not in the journal)", ""}
				}
				return table.Row{f.Path, f.Size, f.Version, *f.At, by(f.Caller, f.Agent, f.Exec), brief(f.Script)}
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print an array of objects")
	return cmd
}
