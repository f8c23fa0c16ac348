package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

var fullID = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// sandboxes are the caller's, newest first.
func (c *client) sandboxes(ctx context.Context) ([]sandboxInfo, error) {
	var out struct {
		Sandboxes []sandboxInfo `json:"sandboxes"`
	}
	err := c.call(ctx, http.MethodGet, sandboxesRoute, nil, &out)
	return out.Sandboxes, err
}

// id is the id of the sandbox that someone means: by its id, the beginning of it, or its name. What nobody is called
// stays what it is, and the server says so.
func (c *client) id(ctx context.Context, meant string) (string, error) {
	if fullID.MatchString(meant) || meant == "" {
		return meant, nil
	}
	all, err := c.sandboxes(ctx)
	if err != nil {
		return "", err
	}
	return pick(meant, all)
}

// pick takes a name before the beginning of an id, and refuses what more than one answers to.
func pick(meant string, all []sandboxInfo) (string, error) {
	var named, begun []string
	for _, s := range all {
		if s.Name == meant {
			named = append(named, s.ID)
		}
		if strings.HasPrefix(s.ID, meant) {
			begun = append(begun, s.ID)
		}
	}
	for _, found := range [][]string{named, begun} {
		switch {
		case len(found) == 1:
			return found[0], nil
		case len(found) > 1:
			return "", fmt.Errorf("%q is %d sandboxes: %s", meant, len(found), strings.Join(found, ", "))
		}
	}
	return meant, nil
}

const sandboxesRoute = "/v1/sandboxes"

// named replaces the sandbox that a route names by its id.
func (c *client) named(ctx context.Context, path string) (string, error) {
	rest, ok := strings.CutPrefix(path, sandboxesRoute+"/")
	if !ok {
		return path, nil
	}
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	meant, err := url.PathUnescape(rest[:end])
	if err != nil {
		return "", err
	}
	id, err := c.id(ctx, meant)
	return sandboxesRoute + "/" + url.PathEscape(id) + rest[end:], err
}

// complete lets a shell complete the sandboxes of every command that begins with one.
func (c *client) complete(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		c.complete(sub)
	}
	words := strings.Fields(cmd.Use)
	if len(words) < 2 || !strings.HasPrefix(strings.TrimPrefix(words[1], "["), "ID") || cmd.ValidArgsFunction != nil {
		return
	}
	many := strings.HasSuffix(words[1], "...")
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 && !many {
			return nil, cobra.ShellCompDirectiveDefault
		}
		all, err := c.sandboxes(cmd.Context())
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var out []string
		for _, s := range all {
			if s.Name != "" && strings.HasPrefix(s.Name, begun) {
				out = append(out, s.Name+"\t"+s.ID)
			}
			if begun != "" && strings.HasPrefix(s.ID, begun) {
				out = append(out, s.ID+"\t"+s.Name)
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}
