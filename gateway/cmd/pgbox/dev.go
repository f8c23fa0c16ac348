package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/adrg/xdg"
	"github.com/spf13/cobra"

	"github.com/pgbox/pgbox/gateway/auth"
	"github.com/pgbox/pgbox/gateway/config"
	"github.com/pgbox/pgbox/gateway/devdb"
	"github.com/pgbox/pgbox/sql/migrate"
)

func devCommand() *cobra.Command {
	var (
		port int
		dir  string
	)
	cmd := &cobra.Command{
		Use: "dev", GroupID: "server",
		Short: "Serve from a private database that it makes itself; prints a URL, a token and curl lines",
		Long: "Serve from a private PostgreSQL cluster, made on first use below --data and kept between runs.\n" +
			"Every environment variable of `pgbox serve` overrides its default here; with DATABASE_URL no cluster is made.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return dev(cmd.Context(), dir, port, cmd.Flags().Changed("port"))
		},
	}
	cmd.Flags().IntVar(&port, "port", 8080, "TCP port; 0 chooses a free one")
	cmd.Flags().StringVar(&dir, "data", defaultDataDir(), "directory of the private cluster")
	return cmd
}

// defaultDataDir is below the user's data directory, but not below root's home: that one is closed to the unprivileged
// user the cluster runs as.
func defaultDataDir() string {
	if os.Geteuid() == 0 {
		return "/var/lib/pgbox"
	}
	return filepath.Join(xdg.DataHome, "pgbox")
}

func dev(ctx context.Context, dir string, port int, portGiven bool) error {
	cfg, err := config.Load(os.Getenv)
	if err != nil {
		return err
	}
	if portGiven || os.Getenv("PORT") == "" {
		cfg.Port = port
	}
	if os.Getenv("HOST") == "" {
		cfg.Host = "127.0.0.1"
	}
	setLogLevel(cfg.LogLevel)
	// The directory keeps the secret too, so that tokens outlive a restart.
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if cfg.AuthSecret == "" {
		secret, err := keptSecret(filepath.Join(dir, "auth-secret"))
		if err != nil {
			return err
		}
		cfg.AuthSecret = config.Secret(secret)
	}
	var psql string
	if cfg.DatabaseURL == "" {
		bin, err := devdb.EnsureBinaries(ctx, filepath.Join(dir, "postgresql"),
			func(what string) { fmt.Fprintln(os.Stderr, what) })
		if err != nil {
			return err
		}
		logFile, err := os.OpenFile(filepath.Join(dir, "postgres.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer func() { _ = logFile.Close() }()
		cluster, err := devdb.Start(ctx, devdb.Config{Dir: filepath.Join(dir, "cluster"), BinDir: bin.Dir, Fsync: true,
			Listen: true, Log: logFile})
		if err != nil {
			return fmt.Errorf("%w\n(the server's log is %s)", err, logFile.Name())
		}
		defer cluster.Stop()
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		defer cancel(nil)
		go func() {
			select {
			case <-cluster.Exited():
				cancel(fmt.Errorf("the database server ended: see %s", logFile.Name()))
			case <-ctx.Done():
			}
		}()
		cfg.DatabaseURL, cfg.DatabaseDirectURL = config.Secret(cluster.URL("postgres")),
			config.Secret(cluster.URL("postgres"))
		psql = cluster.TCPURL("postgres")
	}
	if _, err := migrate.Up(ctx, string(cfg.DatabaseDirectURL), migrate.Options{}); err != nil {
		return err
	}
	env := []string{"AUTH_SECRET=" + string(cfg.AuthSecret), "DATABASE_URL=" + string(cfg.DatabaseURL),
		"DATABASE_DIRECT_URL=" + string(cfg.DatabaseDirectURL)}
	err = start(ctx, cfg, env, psql == "", func(base string) error { return announce(cfg, base, psql) })
	if cause := context.Cause(ctx); err == nil && cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

// keptSecret reads a secret from a file, which it makes on first use.
func keptSecret(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err == nil {
		return strings.TrimSpace(string(data)), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	secret := rand.Text() + rand.Text()
	return secret, os.WriteFile(file, []byte(secret+"\n"), 0o600)
}

// announce prints what a newcomer copies, and leaves URL and token for the other sub-commands.
func announce(cfg *config.Config, base, psql string) error {
	v, err := auth.NewVerifier(string(cfg.AuthSecret), nil)
	if err != nil {
		return err
	}
	tenant := ""
	if len(cfg.Tenants) > 0 {
		tenant = cfg.Tenants[0]
	}
	token, _, err := v.Issue("dev", tenant, 0)
	if err != nil {
		return err
	}
	fmt.Printf(`pgbox is ready

  url    %[1]s    (documentation: %[1]s/docs)
  mcp    %[1]s/mcp
  token  %[2]s
`, base, token)
	if psql != "" {
		fmt.Printf("  psql   psql '%s'\n", psql)
	}
	fmt.Printf(`
Try it:

  export PGBOX_URL=%[1]s PGBOX_TOKEN=%[2]s
  ID=$(curl -sS -X POST $PGBOX_URL/v1/sandboxes -H "Authorization: Bearer $PGBOX_TOKEN" -H 'Content-Type: application/json' -d '{"name":"first"}' | sed 's/.*"id":"\([^"]*\)".*/\1/')
  curl -sS -X POST $PGBOX_URL/v1/sandboxes/$ID/exec-sync -H "Authorization: Bearer $PGBOX_TOKEN" -H 'Content-Type: text/plain' -d 'echo "hello from $USER in $PWD" | tee hello.txt; ls -l'
  curl -sS $PGBOX_URL/v1/sandboxes/$ID/files/home/user/hello.txt -H "Authorization: Bearer $PGBOX_TOKEN"

`, base, token)
	data, err := json.Marshal(credentials{URL: base, Token: token})
	if err != nil {
		return err
	}
	file := credentialsFile()
	err = os.MkdirAll(filepath.Dir(file), 0o700)
	if err == nil {
		err = os.WriteFile(file, data, 0o600)
	}
	if err != nil {
		slog.Warn("the other sub-commands will need PGBOX_URL and PGBOX_TOKEN", "err", err)
	}
	return nil
}
