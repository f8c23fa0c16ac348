package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/pgbox/pgbox/deploy"
)

func exportCommand() *cobra.Command {
	return &cobra.Command{
		Use: "export ID", GroupID: "server",
		Short: "Print a sandbox as SQL that psql or pgbox import restores in another database", Args: cobra.ExactArgs(1),
		Long: "Print a sandbox as SQL: its layers, contents, snapshots, keys, audit log and journal. It runs deploy/export-sandbox.sh (sh, psql and pg_dump must be in PATH) as the user of DATABASE_DIRECT_URL " +
			"(default DATABASE_URL), who must be a member of pgbox_dump. What it prints is one transaction that checks that everything arrived.",
		RunE: func(cmd *cobra.Command, args []string) error {
			u, err := directURL()
			if err != nil {
				return err
			}
			id, err := uuid.Parse(args[0])
			if err != nil {
				return fmt.Errorf("%q is not a sandbox id", args[0])
			}
			return export(cmd.Context(), u, id, os.Stdout)
		},
	}
}

// export writes the dump of one sandbox.
func export(ctx context.Context, u string, id uuid.UUID, w io.Writer) error {
	connection, env, err := libpq(u)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", deploy.ExportSandbox, "export-sandbox.sh", id.String(), connection)
	cmd.Env = env
	return spoken(cmd, w)
}

// spoken runs a program and makes what it says on standard error the text of its failure.
func spoken(cmd *exec.Cmd, stdout io.Writer) error {
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = stdout, &said
	err := cmd.Run()
	if text := strings.TrimSpace(said.String()); err != nil && text != "" {
		return errors.New(text)
	}
	return err
}

// libpqParameters are those of a URL that pgx and libpq both know (PostgreSQL chapter 34.1.2). pgx knows more: settings
// of the session, such as role, and its own.
var libpqParameters = []string{
	"host", "port", "user", "dbname", "passfile", "connect_timeout", "application_name", "sslmode", "sslcert", "sslkey",
	"sslrootcert", "sslpassword", "sslsni",
	"channel_binding", "krbsrvname", "target_session_attrs", "options",
}

// libpq is what psql and pg_dump take of a database's URL, and the environment they run in: the password is not for a
// command line, which others can read.
func libpq(database string) (connection string, env []string, err error) {
	env = os.Environ()
	if !strings.HasPrefix(database, "postgres://") && !strings.HasPrefix(database, "postgresql://") {
		return database, env, nil
	}
	u, err := url.Parse(database)
	if err != nil {
		return "", nil, errors.New("the URL of the database cannot be read")
	}
	old, q := u.Query(), url.Values{}
	for _, name := range libpqParameters {
		if old.Has(name) {
			q.Set(name, old.Get(name))
		}
	}
	password, ok := u.User.Password()
	if old.Has("password") {
		password, ok = old.Get("password"), true
	}
	if ok {
		u.User, env = url.User(u.User.Username()), append(env, "PGPASSWORD="+password)
	}
	u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20")
	return u.String(), env, nil
}
