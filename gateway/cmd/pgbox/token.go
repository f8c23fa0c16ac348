package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/pgbox/pgbox/gateway/auth"
)

func tokenCommand() *cobra.Command {
	var (
		subject, tenant string
		ttl             time.Duration
	)
	cmd := &cobra.Command{
		Use: "token", GroupID: "server", Short: "Print a bearer token signed with AUTH_SECRET", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if subject == "" {
				return errors.New("--sub must not be empty")
			}
			v, err := auth.NewVerifier(os.Getenv("AUTH_SECRET"), nil)
			if err != nil {
				return fmt.Errorf("AUTH_SECRET: %w", err)
			}
			token, _, err := v.Issue(subject, tenant, ttl)
			if err != nil {
				return err
			}
			fmt.Println(token)
			return nil
		},
	}
	cmd.Flags().StringVar(&subject, "sub", "dev", "owner of the sandboxes")
	cmd.Flags().StringVar(&tenant, "tenant", "", "tenant (default \"default\")")
	cmd.Flags().DurationVar(&ttl, "ttl", 30*24*time.Hour, "lifetime; 0: never expires")
	return cmd
}
