package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/pgbox/pgbox/sql/migrate"
)

// portable is a sandbox and a plain table with the same contents, with a dump of each and an empty database to restore
// them in.
type portable struct {
	id               string
	bytes            int64
	box, plain       string // dumps
	template, target string // databases
}

// portableFile is the size of its files.
const portableFile = 32 << 10

func (e *env) portable(ctx context.Context) (*portable, error) {
	n := e.times(2000, 20)
	id, route, err := e.sandbox(ctx)
	if err != nil {
		return nil, err
	}
	script := fmt.Sprintf(`mkdir p && cd p && for ((i = 0; i < %d; i++)); do head -c %d /dev/urandom > f$i; done`, n,
		portableFile)
	if _, err := e.post(ctx, route+"/exec-sync", []byte(fmt.Sprintf(`{"script":%q,"timeoutMs":300000}`,
		script))); err != nil {
		return nil, err
	}
	p := &portable{id: id, box: filepath.Join(e.dir, "box.sql"), plain: filepath.Join(e.dir, "plain.sql"),
		template: "portable", target: "target"}
	if err := e.owner.QueryRow(ctx, "SELECT used_bytes FROM pgbox.sandbox WHERE id = $1", id).Scan(&p.bytes); err != nil {
		return nil, err
	}
	if p.bytes != int64(n)*portableFile {
		return nil, fmt.Errorf("the sandbox holds %d bytes", p.bytes)
	}
	for _, sql := range []string{
		"CREATE TABLE IF NOT EXISTS public.plain (id uuid PRIMARY KEY, data bytea NOT NULL)",
		"ALTER TABLE public.plain ALTER COLUMN data SET STORAGE EXTERNAL", "TRUNCATE public.plain",
		"INSERT INTO public.plain SELECT gen_random_uuid(), b.data FROM pgbox.blob b JOIN pgbox.chunk c ON c.sha256 = b.sha256 JOIN pgbox.sandbox s ON c.layer_id = s.layers[1] WHERE s.id = '" + id + "'",
		"DROP DATABASE IF EXISTS " + p.template, "CREATE DATABASE " + p.template,
	} {
		if _, err := e.owner.Exec(ctx, sql); err != nil {
			return nil, err
		}
	}
	if _, err := migrate.Up(ctx, e.cluster.URL(p.template), migrate.Options{}); err != nil {
		return nil, err
	}
	for _, write := range []work{e.dumpSandbox(p), e.dumpTable(p)} {
		if _, err := write(ctx); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// tool times a program whose output goes to a file.
func (e *env) tool(ctx context.Context, database, to, name string, args ...string) (time.Duration, error) {
	out, err := os.Create(to)
	if err != nil {
		return 0, err
	}
	var said strings.Builder
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "DATABASE_URL="+database, "DATABASE_DIRECT_URL=")
	cmd.Stdout, cmd.Stderr = out, &said
	start := time.Now()
	err = cmd.Run()
	took := time.Since(start)
	if closed := out.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w: %s", name, err, said.String())
	}
	return took, nil
}

func (e *env) dumpSandbox(p *portable) work {
	return func(ctx context.Context) (time.Duration, error) {
		return e.tool(ctx, e.dbURL, p.box, e.pgbox.cmd.Path, "export", p.id)
	}
}

func (e *env) dumpTable(p *portable) work {
	return func(ctx context.Context) (time.Duration, error) {
		return e.tool(ctx, e.dbURL, p.plain, "pg_dump", "--table=public.plain", "--no-sync", "-d", e.dbURL)
	}
}

// restored times a program that fills a new database.
func (e *env) restored(p *portable, template, name string, args ...string) work {
	return func(ctx context.Context) (time.Duration, error) {
		for _, sql := range []string{"DROP DATABASE IF EXISTS " + p.target + " WITH (FORCE)",
			"CREATE DATABASE " + p.target + " TEMPLATE " + template, "CHECKPOINT"} {
			if _, err := e.owner.Exec(ctx, sql); err != nil {
				return 0, err
			}
		}
		return e.tool(ctx, e.cluster.URL(p.target), os.DevNull, name, args...)
	}
}

func (p *portable) speeds(r ratio, err error) (ratio, error) {
	mb := float64(p.bytes) / 1e6
	r.detail += fmt.Sprintf(" (%.0f / %.0f MB/s)", mb/r.a.Seconds(), mb/r.b.Seconds())
	return r, err
}

// benchExport dumps a sandbox, and by turns a plain table with the same contents.
func benchExport(ctx context.Context, e *env) (ratio, error) {
	p, err := e.portable(ctx)
	if err != nil {
		return ratio{}, err
	}
	return p.speeds(compare(ctx, 0, e.times(3, 1), 1, e.dumpSandbox(p), e.dumpTable(p)))
}

// benchImport restores the two dumps, each into a database of its own.
func benchImport(ctx context.Context, e *env) (ratio, error) {
	p, err := e.portable(ctx)
	if err != nil {
		return ratio{}, err
	}
	return p.speeds(compare(ctx, 0, e.times(3, 1), 1, e.restored(p, p.template, e.pgbox.cmd.Path, "import", p.box),
		e.restored(p, "template0", "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", e.cluster.URL(p.target), "-f",
			p.plain)))
}
