package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
)

func fsCommand(c *client) *cobra.Command {
	cmd := &cobra.Command{Use: "fs", Short: "List, read, write and remove files of a sandbox"}
	var (
		depth int
		at    string
	)
	ls := &cobra.Command{
		Use: "ls ID [PATH]", Short: "List a directory", Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			q := url.Values{"prefix": {"/home/user"}, "depth": {fmt.Sprint(depth)}}
			if len(args) == 2 {
				q.Set("prefix", args[1])
			}
			if at != "" {
				q.Set("at", at)
			}
			type entry struct {
				Path  string `json:"path"`
				Kind  string `json:"kind"`
				Size  int64  `json:"size"`
				Mtime string `json:"mtime"`
			}
			var out []entry
			if err := c.call(cmd.Context(), http.MethodGet, sandboxPath(args[0], "/tree?"+q.Encode()), nil, &out); err != nil {
				return err
			}
			return rows(false, out, table.Row{"path", "kind", "bytes", "modified"}, func(e *entry) table.Row {
				return table.Row{e.Path, e.Kind, e.Size, e.Mtime}
			})
		},
	}
	ls.Flags().IntVar(&depth, "depth", 1, "levels to descend")
	cat := &cobra.Command{
		Use: "cat ID PATH...", Short: "Print files", Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range args[1:] {
				p, err := filePath(args[0], name)
				if err != nil {
					return err
				}
				if at != "" {
					p += "?" + url.Values{"at": {at}}.Encode()
				}
				res, err := c.do(cmd.Context(), http.MethodGet, p, "", nil)
				if err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				_, err = io.Copy(os.Stdout, res.Body)
				res.Body.Close()
				if err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
			return nil
		},
	}
	for _, r := range []*cobra.Command{ls, cat} {
		r.Flags().StringVar(&at, "at", "", "an earlier state: a snapshot, @base, a version or a time")
	}
	put := &cobra.Command{
		Use: "put ID PATH [FILE]", Short: "Write a file from a local file or standard input", Args: cobra.RangeArgs(2, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := filePath(args[0], args[1])
			if err != nil {
				return err
			}
			var in io.Reader = os.Stdin
			if len(args) == 3 {
				f, err := os.Open(args[2])
				if err != nil {
					return err
				}
				defer func() { _ = f.Close() }()
				in = f
			}
			start := time.Now()
			res, err := c.do(cmd.Context(), http.MethodPut, p, "application/octet-stream", in)
			if err != nil {
				return fmt.Errorf("%s (after %s): %w", args[1], time.Since(start).Round(time.Millisecond), err)
			}
			return res.Body.Close()
		},
	}
	var recursive bool
	rm := &cobra.Command{
		Use: "rm ID PATH...", Short: "Remove files", Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range args[1:] {
				p, err := filePath(args[0], name)
				if err != nil {
					return err
				}
				if recursive {
					p += "?recursive=true"
				}
				if err := c.call(cmd.Context(), http.MethodDelete, p, nil, nil); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
			return nil
		},
	}
	rm.Flags().BoolVarP(&recursive, "recursive", "r", false, "remove directories and what they hold")
	cmd.AddCommand(ls, cat, put, rm)
	return cmd
}
