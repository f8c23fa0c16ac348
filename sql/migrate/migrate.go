package migrate

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	pgboxsql "github.com/pgbox/pgbox/sql"
)

// lockKey names the advisory lock of this package inside one database.
const lockKey = 0x7067626f78 // "pgbox"

const versionTable = "pgbox.migration"

// Options of [Up]; the zero value is what servers use.
type Options struct {
	// Repeatables replaces the embedded functions, views and grants.
	Repeatables fs.FS
	// Migrations replaces the embedded migrations; the files lie at its root.
	Migrations fs.FS
}

// Result says what [Up] did.
type Result struct {
	Version     int64 // the schema version afterwards
	Migrations  int   // versioned files applied by this call
	Repeatables bool  // whether functions and views were made anew
}

// Migration is one versioned file and whether the database has it.
type Migration struct {
	Version int64
	Name    string
	Applied bool
}

// State compares a database with this binary.
type State struct {
	Migrations []Migration
	Digest     string // of the functions the database was built from, "" when it has none
	WantDigest string // of the files in this binary
}

// Up migrates the database at connString, a direct connection of a role that
// may create roles and schemas. It is safe to run from many processes at once.
func Up(ctx context.Context, connString string, opts Options) (Result, error) {
	src, err := newSource(opts)
	if err != nil {
		return Result{}, err
	}
	db, err := open(connString)
	if err != nil {
		return Result{}, err
	}
	defer func() { _ = db.Close() }()

	pid, err := lock(ctx, db)
	if err != nil {
		return Result{}, fmt.Errorf("migrate: lock: %w", err)
	}
	if _, err := db.ExecContext(ctx, "CREATE SCHEMA IF NOT EXISTS pgbox"); err != nil {
		return Result{}, fmt.Errorf("migrate: %w", err)
	}
	provider, err := src.provider(db)
	if err != nil {
		return Result{}, err
	}
	have, want, err := provider.GetVersions(ctx)
	if err != nil {
		return Result{}, fmt.Errorf("migrate: version: %w", err)
	}
	if have > want {
		return Result{}, newer(have, want)
	}
	applied, err := provider.Up(ctx)
	if err != nil {
		return Result{}, fmt.Errorf("migrate: %w", err)
	}
	res := Result{Version: want, Migrations: len(applied)}
	// The lock belongs to a session. Had the connection been replaced, the lock would be gone.
	var now int
	if err := db.QueryRowContext(ctx, "SELECT pg_backend_pid()").Scan(&now); err != nil {
		return res, fmt.Errorf("migrate: %w", err)
	}
	if now != pid {
		return res, errors.New("migrate: the connection that held the lock was lost")
	}
	res.Repeatables, err = src.repeat(ctx, db, len(applied) > 0)
	if err != nil {
		return res, fmt.Errorf("migrate: %w", err)
	}
	return res, nil
}

// Status reports which migrations the database at connString has.
func Status(ctx context.Context, connString string) (State, error) {
	src, err := newSource(Options{})
	if err != nil {
		return State{}, err
	}
	conn, err := pgx.Connect(ctx, connString)
	if err != nil {
		return State{}, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	st := State{WantDigest: src.digest}
	var exists bool
	if err := conn.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", versionTable).Scan(&exists); err != nil {
		return st, err
	}
	var done []int64
	if exists {
		if err := conn.QueryRow(ctx, "SELECT coalesce(array_agg(version_id), '{}') FROM "+versionTable+" WHERE is_applied").Scan(&done); err != nil {
			return st, err
		}
	}
	for _, m := range src.files {
		m.Applied = slices.Contains(done, m.Version)
		st.Migrations = append(st.Migrations, m)
	}
	if len(st.Migrations) > 0 && st.Migrations[0].Applied {
		err := conn.QueryRow(ctx, "SELECT digest FROM pgbox.schema_digest").Scan(&st.Digest)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return st, err
		}
	}
	return st, nil
}

// Querier is what [Check] needs: a pgx connection, pool or transaction.
type Querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Check refuses a database that this binary must not serve, with a
// [*SchemaError]. The gateway's role is enough for it.
func Check(ctx context.Context, conn Querier) error { return check(ctx, conn, Options{}) }

func check(ctx context.Context, conn Querier, opts Options) error {
	src, err := newSource(opts)
	if err != nil {
		return err
	}
	var (
		have                int64
		digest, stored, now string
	)
	err = conn.QueryRow(ctx, "SELECT s.version, s.digest, s.fingerprint, ("+fingerprint+") FROM fs.schema() s").
		Scan(&have, &digest, &stored, &now)
	if pe, ok := errors.AsType[*pgconn.PgError](err); ok &&
		(pe.Code == "42883" || pe.Code == "3F000" || pe.Code == "42P01") || errors.Is(err, pgx.ErrNoRows) {
		return &SchemaError{ErrNotMigrated, "none", strconv.FormatInt(src.version, 10), "run `pgbox migrate up` with DATABASE_DIRECT_URL"}
	}
	switch {
	case err != nil:
		return fmt.Errorf("migrate: check: %w", err)
	case have < src.version:
		return &SchemaError{ErrOlder, strconv.FormatInt(have, 10), strconv.FormatInt(src.version, 10), "run `pgbox migrate up` of this binary"}
	case have > src.version:
		return newer(have, src.version)
	case digest != src.digest:
		return &SchemaError{ErrDigest, short(digest), short(src.digest), "run `pgbox migrate up` of the binary that is to serve"}
	case stored != now:
		return &SchemaError{ErrTampered, short(now), short(stored),
			"find out who changed the functions; `DELETE FROM pgbox.schema_digest` and `pgbox migrate up` restore them"}
	}
	return nil
}

func newer(have, want int64) error {
	return &SchemaError{ErrNewer, strconv.FormatInt(have, 10), strconv.FormatInt(want, 10), "upgrade this binary; a newer one has migrated the database"}
}

func short(digest string) string { return digest[:min(12, len(digest))] }

// fingerprint is a query over the catalog for the functions as they are now.
// Only what survives a major upgrade of Postgres unchanged goes in.
const fingerprint = `SELECT md5(string_agg(concat_ws('|', n.nspname, p.proname, pg_catalog.pg_get_function_identity_arguments(p.oid), p.prosrc, p.prosecdef, p.proowner::regrole, p.proconfig), E'\n'
	ORDER BY n.nspname COLLATE "C", p.proname COLLATE "C", pg_catalog.pg_get_function_identity_arguments(p.oid) COLLATE "C"))
	FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname IN ('fs', 'pgbox')`

// open returns a pool of exactly one connection, so that whatever runs on it
// runs under the session's advisory lock.
func open(connString string) (*sql.DB, error) {
	cfg, err := pgx.ParseConfig(connString)
	if err != nil {
		return nil, err
	}
	// Functions are dropped and made anew under the same names: keep no prepared statements.
	cfg.DefaultQueryExecMode = pgx.QueryExecModeExec
	// NOTICE of "already exists" is the normal case here.
	cfg.OnNotice = func(*pgconn.PgConn, *pgconn.Notice) {}
	db := stdlib.OpenDB(*cfg)
	db.SetMaxOpenConns(1)
	db.SetMaxIdleConns(1)
	db.SetConnMaxIdleTime(0)
	db.SetConnMaxLifetime(0)
	return db, nil
}

func lock(ctx context.Context, db *sql.DB) (pid int, err error) {
	if _, err := db.ExecContext(ctx, "SELECT pg_advisory_lock($1)", int64(lockKey)); err != nil {
		return 0, err
	}
	err = db.QueryRowContext(ctx, "SELECT pg_backend_pid()").Scan(&pid)
	return pid, err
}

// source is the schema that a binary carries.
type source struct {
	migrations  fs.FS
	files       []Migration
	version     int64
	repeatables []object
	grants      string
	digest      string
}

// object is one repeatable file.
type object struct{ name, text string }

var embedded = sync.OnceValues(func() (*source, error) { return load(Options{}) })

func newSource(opts Options) (*source, error) {
	if opts.Migrations == nil && opts.Repeatables == nil {
		return embedded()
	}
	return load(opts)
}

func load(opts Options) (*source, error) {
	s := &source{migrations: opts.Migrations}
	if s.migrations == nil {
		sub, err := fs.Sub(pgboxsql.Migrations, "migrations")
		if err != nil {
			return nil, err
		}
		s.migrations = sub
	}
	names, err := fs.Glob(s.migrations, "*.sql")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	for _, name := range names {
		number, rest, _ := strings.Cut(strings.TrimSuffix(name, ".sql"), "_")
		v, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("migrate: %s: %w", name, err)
		}
		s.files = append(s.files, Migration{Version: v, Name: rest})
		s.version = max(s.version, v)
	}

	files := opts.Repeatables
	if files == nil {
		files = pgboxsql.Repeatables
	}
	sum := sha256.New()
	// Functions return rows of views and views call functions: the order is found by
	// trying (see create); views first, because most of them stand on tables alone.
	for _, pattern := range []string{"views/*.sql", "functions/*.sql", "grants.sql"} {
		names, err := fs.Glob(files, pattern)
		if err != nil {
			return nil, err
		}
		slices.Sort(names)
		for _, name := range names {
			text, err := fs.ReadFile(files, name)
			if err != nil {
				return nil, err
			}
			_, _ = fmt.Fprintf(sum, "%s\x00%d\x00%s", path.Clean(name), len(text), text)
			if name == "grants.sql" {
				s.grants = string(text)
			} else {
				s.repeatables = append(s.repeatables, object{name, string(text)})
			}
		}
	}
	s.digest = hex.EncodeToString(sum.Sum(nil))
	return s, nil
}

func (s *source) provider(db *sql.DB) (*goose.Provider, error) {
	p, err := goose.NewProvider(goose.DialectPostgres, db, s.migrations,
		goose.WithTableName(versionTable), goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	return p, nil
}

// BuildID identifies everything this binary would make of an empty database.
// Test databases are named after it.
func BuildID() (string, error) {
	s, err := newSource(Options{})
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	_, _ = fmt.Fprint(sum, s.digest)
	for _, m := range s.files {
		text, err := fs.ReadFile(s.migrations, fmt.Sprintf("%05d_%s.sql", m.Version, m.Name))
		if err != nil {
			return "", err
		}
		_, _ = fmt.Fprintf(sum, "\x00%d\x00%s", m.Version, text)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
