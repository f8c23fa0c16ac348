package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
)

func kvPath(id, key string) string {
	parts := strings.Split(key, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return sandboxPath(id, "/kv/"+strings.Join(parts, "/"))
}

func kvCommand(c *client) *cobra.Command {
	type entry struct {
		Key     string          `json:"key"`
		Value   json.RawMessage `json:"value"`
		Version int64           `json:"version"`
	}
	cmd := &cobra.Command{Use: "kv", Short: "Read and write the key-value store of a sandbox"}
	get := &cobra.Command{
		Use: "get ID KEY", Short: "Print a value as JSON", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			var e entry
			if err := c.call(cmd.Context(), http.MethodGet, kvPath(args[0], args[1]), nil, &e); err != nil {
				return err
			}
			fmt.Println(string(e.Value))
			return nil
		},
	}
	var expect int64
	set := &cobra.Command{
		Use: "set ID KEY JSON", Short: "Set a key and print its version; what is not JSON is taken as a string",
		Args: cobra.ExactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			in := map[string]any{"value": args[2]}
			if json.Valid([]byte(args[2])) {
				in["value"] = json.RawMessage(args[2])
			}
			if cmd.Flags().Changed("expect-version") {
				in["expectVersion"] = expect
			}
			var e entry
			if err := c.call(cmd.Context(), http.MethodPut, kvPath(args[0], args[1]), in, &e); err != nil {
				return err
			}
			fmt.Println(e.Version)
			return nil
		},
	}
	set.Flags().Int64Var(&expect, "expect-version", 0, "fail unless the key has this version; 0: unless it is not there")
	rm := &cobra.Command{
		Use: "rm ID KEY...", Short: "Remove keys", Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, k := range args[1:] {
				if err := c.call(cmd.Context(), http.MethodDelete, kvPath(args[0], k), nil, nil); err != nil {
					return fmt.Errorf("remove %s: %w", k, err)
				}
			}
			return nil
		},
	}
	list := &cobra.Command{
		Use: "list ID [PREFIX]", Aliases: []string{"ls"}, Short: "Print keys and values, a line each",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			q := url.Values{"limit": {"1000"}}
			if len(args) == 2 {
				q.Set("prefix", args[1])
			}
			for {
				var out struct {
					Entries []entry `json:"entries"`
					More    bool    `json:"more"`
				}
				if err := c.call(cmd.Context(), http.MethodGet, sandboxPath(args[0], "/kv?"+q.Encode()), nil, &out); err != nil {
					return err
				}
				for _, e := range out.Entries {
					fmt.Printf("%s\t%s\n", e.Key, e.Value)
				}
				if !out.More {
					return nil
				}
				q.Set("after", out.Entries[len(out.Entries)-1].Key)
			}
		},
	}
	cmd.AddCommand(get, set, rm, list)
	return cmd
}
