package main

import (
	"errors"
	"net/http"
	"os"
	"strconv"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
)

// quota is what is held and what may be; nil is no limit.
type quota struct {
	Bytes        int64  `json:"bytes"`
	Inodes       int64  `json:"inodes"`
	Snapshots    int64  `json:"snapshots"`
	Sandboxes    int64  `json:"sandboxes"`
	MaxBytes     *int64 `json:"maxBytes,omitempty"`
	MaxInodes    *int64 `json:"maxInodes,omitempty"`
	MaxSnapshots *int64 `json:"maxSnapshots,omitempty"`
	MaxSandboxes *int64 `json:"maxSandboxes,omitempty"`
}

type quotas struct {
	Tenant string `json:"tenant"`
	Owner  string `json:"owner"`
	Of     quota  `json:"tenantQuota"`
	Own    *quota `json:"ownerQuota"`
}

func (q *quotas) print(asJSON bool) error {
	type row struct {
		Of string `json:"of"`
		quota
	}
	list := []row{{"tenant " + q.Tenant, q.Of}}
	if q.Own != nil {
		list = append(list, row{"owner " + q.Owner, *q.Own})
	}
	return rows(asJSON, list, table.Row{"of", "bytes", "files", "snapshots", "sandboxes"}, func(r *row) table.Row {
		return table.Row{r.Of, share(r.Bytes, r.MaxBytes), share(r.Inodes, r.MaxInodes), share(r.Snapshots, r.MaxSnapshots),
			share(r.Sandboxes, r.MaxSandboxes)}
	})
}

// share is how much of a limit is used.
func share(used int64, limit *int64) string {
	if limit == nil {
		return strconv.FormatInt(used, 10)
	}
	return strconv.FormatInt(used, 10) + " of " + strconv.FormatInt(*limit, 10)
}

// limitFlags are the limits a command sets.
type limitFlags struct{ bytes, files, snapshots, sandboxes int64 }

func (l *limitFlags) add(cmd *cobra.Command, sandboxes bool) {
	cmd.Flags().Int64Var(&l.bytes, "bytes", -1, "bytes of all files")
	cmd.Flags().Int64Var(&l.files, "files", -1, "files, directories and symlinks")
	cmd.Flags().Int64Var(&l.snapshots, "snapshots", -1, "snapshots")
	if sandboxes {
		cmd.Flags().Int64Var(&l.sandboxes, "sandboxes", -1, "sandboxes")
	}
}

// limit is nil for a flag that was not given.
func limit(cmd *cobra.Command, name string, v int64) *int64 {
	if !cmd.Flags().Changed(name) {
		return nil
	}
	return &v
}

func quotaCommand(c *client) *cobra.Command {
	var asJSON bool
	var own limitFlags
	cmd := &cobra.Command{
		Use: "quota [ID]", Short: "Show what is held and what may be held: by all your sandboxes, or by one",
		Args: cobra.MaximumNArgs(1),
		Long: `Show what all sandboxes of your tenant and of yours hold together, and what they may; or what one sandbox holds. With a flag that sandbox gets a limit.
What would go past a limit fails with EDQUOT and changes nothing; what is over may shrink.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				for _, name := range []string{"bytes", "files", "snapshots"} {
					if cmd.Flags().Changed(name) {
						return errors.New("limits of a tenant or owner are set with `pgbox quota set`, those of a sandbox need its id")
					}
				}
				var out quotas
				if err := c.call(cmd.Context(), http.MethodGet, "/v1/quota", nil, &out); err != nil {
					return err
				}
				return out.print(asJSON)
			}
			var out struct {
				Usage struct {
					Bytes  int64 `json:"bytes"`
					Inodes int64 `json:"inodes"`
				} `json:"usage"`
				Limits struct {
					MaxBytes  *int64 `json:"maxBytes,omitempty"`
					MaxInodes *int64 `json:"maxInodes,omitempty"`
				} `json:"limits"`
				MaxSnapshots *int64 `json:"maxSnapshots"`
			}
			bytes, files, snapshots := limit(cmd, "bytes", own.bytes), limit(cmd, "files", own.files),
				limit(cmd, "snapshots", own.snapshots)
			method, in := http.MethodGet, any(nil)
			if bytes != nil || files != nil || snapshots != nil {
				out.Limits.MaxBytes, out.Limits.MaxInodes = bytes, files
				body := map[string]any{"limits": out.Limits}
				if snapshots != nil {
					body["maxSnapshots"] = snapshots
				}
				method, in = http.MethodPatch, body
			}
			if err := c.call(cmd.Context(), method, sandboxPath(args[0], ""), in, &out); err != nil {
				return err
			}
			var kept struct {
				Snapshots []struct{} `json:"snapshots"`
			}
			if err := c.call(cmd.Context(), http.MethodGet, sandboxPath(args[0], "/snapshots"), nil, &kept); err != nil {
				return err
			}
			q := quota{
				Bytes: out.Usage.Bytes, Inodes: out.Usage.Inodes, Snapshots: int64(len(kept.Snapshots)),
				MaxBytes: out.Limits.MaxBytes, MaxInodes: out.Limits.MaxInodes, MaxSnapshots: out.MaxSnapshots,
			}
			return rows(asJSON, []quota{q}, table.Row{"bytes", "files", "snapshots"}, func(q *quota) table.Row {
				return table.Row{share(q.Bytes, q.MaxBytes), share(q.Inodes, q.MaxInodes), share(q.Snapshots, q.MaxSnapshots)}
			})
		},
	}
	own.add(cmd, false)
	cmd.PersistentFlags().BoolVar(&asJSON, "json", false, "print an array of objects")

	var given limitFlags
	var owner string
	set := &cobra.Command{
		Use: "set TENANT", Short: "Set what all sandboxes of a tenant, or with --owner of one owner, may hold together",
		Args: cobra.ExactArgs(1),
		Long: "Set what all sandboxes of a tenant, or with --owner of one owner, may hold together. What has no flag has no limit. The server's ADMIN_SECRET is read from the environment.",
		RunE: func(cmd *cobra.Command, args []string) error {
			c.adminSecret = os.Getenv("ADMIN_SECRET")
			if c.adminSecret == "" {
				return errors.New("set ADMIN_SECRET to the server's")
			}
			in := map[string]any{"tenant": args[0], "owner": owner}
			for name, v := range map[string]int64{"bytes": given.bytes, "files": given.files, "snapshots": given.snapshots,
				"sandboxes": given.sandboxes} {
				if l := limit(cmd, name, v); l != nil {
					in[map[string]string{"bytes": "maxBytes", "files": "maxInodes", "snapshots": "maxSnapshots",
						"sandboxes": "maxSandboxes"}[name]] = *l
				}
			}
			var out quotas
			if err := c.call(cmd.Context(), http.MethodPut, "/v1/quota", in, &out); err != nil {
				return err
			}
			return out.print(asJSON)
		},
	}
	set.Flags().StringVar(&owner, "owner", "", "of the tenant's owners this one")
	given.add(set, true)
	cmd.AddCommand(set)
	return cmd
}
