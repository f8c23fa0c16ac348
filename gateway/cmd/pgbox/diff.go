package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

func diffCommand(c *client) *cobra.Command {
	var stat, unified, asJSON bool
	cmd := &cobra.Command{
		Use: "diff [ID[@STATE]] ID[@STATE]", Short: "Show what differs between two states of sandboxes",
		Args: cobra.RangeArgs(1, 2),
		Long: "Show what differs between two states of sandboxes of yours: since what a sandbox started from, with one argument. STATE is a snapshot by name or id, base, a version or a time; without it, it is the present state.",
		RunE: func(cmd *cobra.Command, args []string) error {
			id, at, err := c.state(cmd.Context(), args[len(args)-1])
			if err != nil {
				return err
			}
			q := url.Values{}
			if at != "" {
				q.Set("at", at)
			}
			if len(args) == 2 {
				from, fromAt, err := c.state(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				q.Set("from", from)
				if fromAt == "" && from == id {
					fromAt = "@head"
				}
				if fromAt != "" {
					q.Set("fromAt", fromAt)
				}
			}
			if stat || unified {
				q.Set("lines", "true")
			}
			var out struct {
				Changes []struct {
					Path     string `json:"path"`
					Status   string `json:"status"`
					Kind     string `json:"kind"`
					PathFrom string `json:"pathFrom,omitempty"`
					Inserted int    `json:"inserted,omitempty"`
					Deleted  int    `json:"deleted,omitempty"`
					Binary   bool   `json:"binary,omitempty"`
					Unified  string `json:"unified,omitempty"`
				} `json:"changes"`
			}
			if err := c.call(cmd.Context(), http.MethodGet, sandboxPath(id, "/diff?"+q.Encode()), nil, &out); err != nil {
				return err
			}
			if asJSON || output.json {
				enc := json.NewEncoder(os.Stdout)
				enc.SetIndent("", "  ")
				return enc.Encode(out.Changes)
			}
			inserted, deleted := 0, 0
			for _, d := range out.Changes {
				name := d.Path
				if d.PathFrom != "" {
					name = d.PathFrom + " -> " + d.Path
				}
				switch {
				case unified && d.Binary:
					fmt.Printf("Binary files a%s and b%s differ\n", d.Path, d.Path)
				case unified && d.Unified != "":
					fmt.Print(d.Unified)
				case unified:
					fmt.Printf("%s %s\n", d.Status, name)
				case stat && d.Binary:
					fmt.Printf("%s %s | binary\n", d.Status, name)
				case stat:
					fmt.Printf("%s %s | +%d -%d\n", d.Status, name, d.Inserted, d.Deleted)
				default:
					fmt.Printf("%s %s\n", d.Status, name)
				}
				inserted += d.Inserted
				deleted += d.Deleted
			}
			if stat {
				fmt.Printf("%d changed, %d lines inserted, %d deleted\n", len(out.Changes), inserted, deleted)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&stat, "stat", false, "count the lines")
	cmd.Flags().BoolVarP(&unified, "unified", "u", false, "show the lines, as diff -u does")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.MarkFlagsMutuallyExclusive("stat", "unified", "json")
	return cmd
}

// splitState reads ID@STATE.
func splitState(s string) (id, at string) {
	id, at, _ = strings.Cut(s, "@")
	if at == "base" || at == "head" {
		at = "@" + at
	}
	return id, at
}

// state is splitState of a sandbox that may be named.
func (c *client) state(ctx context.Context, s string) (id, at string, err error) {
	id, at = splitState(s)
	id, err = c.id(ctx, id)
	return id, at, err
}

func mergeCommand(c *client) *cobra.Command {
	var (
		base                  string
		ours, theirs, markers bool
		strict                bool
	)
	cmd := &cobra.Command{
		Use: "merge ID FROM-ID[@STATE]", Aliases: []string{"apply"},
		Short: "Do in a sandbox what happened in another; undo takes it back", Args: cobra.ExactArgs(2),
		Long: "Do in a sandbox what happened in another since that one was forked, or since the state that --base names. Texts that both changed are merged line by line (not with --strict). Where both changed the same, nothing at all is done and the status is 1, unless --ours or --theirs says which to take. With --markers what both changed differently stands between <<<<<<< and >>>>>>>, and the status is 1, too.",
		RunE: func(cmd *cobra.Command, args []string) error {
			from, at, err := c.state(cmd.Context(), args[1])
			if err != nil {
				return err
			}
			in := map[string]string{"from": from, "fromAt": at, "base": base, "conflict": "lines"}
			switch {
			case strict:
				in["conflict"] = "fail"
			case ours:
				in["conflict"] = "ours"
			case theirs:
				in["conflict"] = "theirs"
			case markers:
				in["conflict"] = "markers"
			}
			if base == "base" {
				in["base"] = "@base"
			}
			var out struct {
				Merged    bool `json:"merged"`
				Conflicts int  `json:"conflicts"`
				Changes   []struct {
					Path    string `json:"path"`
					Status  string `json:"status"`
					Outcome string `json:"outcome"`
					Detail  string `json:"detail"`
					Winner  string `json:"winner"`
				} `json:"changes"`
			}
			if err := c.call(cmd.Context(), http.MethodPost, sandboxPath(args[0], "/merge"), in, &out); err != nil {
				return err
			}
			for _, d := range out.Changes {
				line := fmt.Sprintf("%-8s %s %s", d.Outcome, d.Status, d.Path)
				switch d.Winner {
				case "ours", "theirs":
					d.Detail += ": " + d.Winner
				}
				if d.Detail != "" {
					line += " (" + d.Detail + ")"
				}
				fmt.Println(line)
			}
			if !out.Merged {
				fmt.Fprintln(os.Stderr, "pgbox: there are conflicts: nothing was done (applied: no)")
			}
			if !out.Merged || markers && out.Conflicts > 0 {
				return exitStatus(1)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&base, "base", "", "since which state of the other sandbox: "+stateHelp)
	cmd.Flags().BoolVar(&ours, "ours", false, "in conflicts leave what is here")
	cmd.Flags().BoolVar(&theirs, "theirs", false, "in conflicts take what is there")
	cmd.Flags().BoolVar(&markers, "markers", false, "in conflicts of texts write both sides, between markers")
	cmd.Flags().BoolVar(&strict, "strict", false, "a file that both changed is a conflict, even in other lines")
	cmd.MarkFlagsMutuallyExclusive("ours", "theirs", "markers", "strict")
	return cmd
}
