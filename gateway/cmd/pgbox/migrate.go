package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/pgbox/pgbox/gateway/config"
	"github.com/pgbox/pgbox/sql/migrate"
)

// directURL is the database that migrations, pg_dump and psql go to: DATABASE_DIRECT_URL, else DATABASE_URL.
func directURL() (string, error) {
	c, err := config.Load(os.Getenv)
	if err != nil {
		return "", err
	}
	if c.DatabaseDirectURL == "" {
		return "", errors.New("DATABASE_URL is not set (or DATABASE_DIRECT_URL, when DATABASE_URL goes through a pooler)")
	}
	return string(c.DatabaseDirectURL), nil
}

func migrateCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "migrate", GroupID: "server",
		Short: "Bring the schema of a database up to date, or look at it"}
	withURL := func(f func(ctx context.Context, url string) error) func(*cobra.Command, []string) error {
		return func(cmd *cobra.Command, _ []string) error {
			url, err := directURL()
			if err != nil {
				return err
			}
			return f(cmd.Context(), url)
		}
	}
	cmd.AddCommand(
		&cobra.Command{Use: "up", Short: "Apply what is missing; safe to run from many processes at once", Args: cobra.NoArgs,
			RunE: withURL(func(ctx context.Context, url string) error {
				res, err := migrate.Up(ctx, url, migrate.Options{})
				if err != nil {
					return err
				}
				functions := "unchanged"
				if res.Repeatables {
					functions = "made anew"
				}
				fmt.Printf("schema version %d: %d migrations applied, functions and views %s\n", res.Version, res.Migrations,
					functions)
				return nil
			})},
		&cobra.Command{Use: "status", Short: "List the migrations", Args: cobra.NoArgs,
			RunE: withURL(func(ctx context.Context, url string) error {
				st, err := migrate.Status(ctx, url)
				if err != nil {
					return err
				}
				t := table.NewWriter()
				t.SetOutputMirror(os.Stdout)
				t.SetStyle(table.StyleLight)
				t.AppendHeader(table.Row{"version", "name", "applied"})
				for _, m := range st.Migrations {
					t.AppendRow(table.Row{m.Version, m.Name, m.Applied})
				}
				t.AppendFooter(table.Row{"", "functions and views", st.Digest == st.WantDigest})
				t.Render()
				return nil
			})},
		&cobra.Command{Use: "check", Short: "Say whether this binary may serve the database; status 1 when not",
			Args: cobra.NoArgs, RunE: withURL(func(ctx context.Context, url string) error {
				conn, err := pgx.Connect(ctx, url)
				if err != nil {
					return err
				}
				defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
				if err := migrate.Check(ctx, conn); err != nil {
					return err
				}
				fmt.Println("the database has the schema of this binary")
				return nil
			})},
	)
	return cmd
}
