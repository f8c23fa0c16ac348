package migrate

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

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

// Up migrates the database at connString, a direct connection of a role that may create roles and schemas. It is safe
// to run from many processes at once, and while gateways serve: all of it is one transaction, and a lock that somebody
// holds is waited for in short turns, so that nobody stands in line behind the migration. When it fails nothing has
// changed.
func Up(ctx context.Context, connString string, opts Options) (Result, error) {
	src, err := newSource(opts)
	if err != nil {
		return Result{}, err
	}
	db, conn, err := open(ctx, connString)
	if err != nil {
		return Result{}, err
	}
	defer func() { _ = db.Close() }()
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(lockKey)); err != nil {
		return Result{}, fmt.Errorf("migrate: lock: %w", err)
	}
	for turn := 1; ; turn++ {
		res, err := src.up(ctx, db, conn)
		switch {
		case err == nil:
			return res, nil
		case busy(err) && turn == turns:
			return Result{}, fmt.Errorf("migrate: %w (%w)", errBusy, err)
		case !busy(err):
			return Result{}, fmt.Errorf("migrate: %w", src.explain(ctx, conn, err))
		}
		select {
		case <-time.After(between):
		case <-ctx.Done():
			return Result{}, fmt.Errorf("migrate: %w", err)
		}
	}
}

// A migration takes every lock that it needs before it changes anything, within lockTimeout each and lockPhase in all,
// or lets everyone pass and tries again. That is less than the second (deadlock_timeout) after which Postgres would
// look for a victim among the gateways that wait for it meanwhile.
const (
	lockTimeout = "SET LOCAL lock_timeout = '300ms'"
	lockPhase   = "600ms"
	between     = 300 * time.Millisecond
	turns       = 200
)

// errBusy: the locks were not there in time.
var errBusy = errors.New("other sessions hold the tables: end the transactions that last long (pg_stat_activity)")

// busy reports whether somebody else's lock was in the way: lock_not_available, deadlock_detected, or roles that
// another database's migration changes.
func busy(err error) bool {
	pe, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (pe.Code == "55P03" || pe.Code == "40P01") || errors.Is(err, errBusy)
}

// up does all of it in one transaction.
func (s *source) up(ctx context.Context, db *sql.DB, conn *pgx.Conn) (Result, error) {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return Result{}, err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	if err := run(ctx, tx, lockTimeout); err != nil {
		return Result{}, err
	}
	done, err := applied(ctx, tx)
	if err != nil {
		return Result{}, err
	}
	if have := slices.Max(append(done, 0)); have > s.version {
		return Result{}, newer(have, s.version)
	}
	res := Result{Version: s.version}
	if idle, err := s.idle(ctx, tx, done); err != nil || idle {
		return res, err
	}
	if err := lockAll(ctx, tx); err != nil {
		return Result{}, err
	}
	// goose's table of versions lives in it.
	if err := run(ctx, tx, "CREATE SCHEMA IF NOT EXISTS pgbox"); err != nil {
		return Result{}, err
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, s.migrations, goose.WithTableName(versionTable),
		goose.WithAllowOutofOrder(true), goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return Result{}, err
	}
	files, err := provider.Up(ctx)
	if partial, ok := errors.AsType[*goose.PartialError](err); ok {
		err = fmt.Errorf("%s: %w", path.Base(partial.Failed.Source.Path), partial.Err)
	}
	if err != nil {
		return Result{}, err
	}
	res.Migrations = len(files)
	if res.Repeatables, err = s.repeat(ctx, tx, res.Migrations > 0); err != nil {
		return Result{}, err
	}
	return res, tx.Commit(ctx)
}

// idle reports whether the database has everything already.
func (s *source) idle(ctx context.Context, tx pgx.Tx, done []int64) (bool, error) {
	for _, m := range s.files {
		if !slices.Contains(done, m.Version) {
			return false, nil
		}
	}
	var stored string
	err := tx.QueryRow(ctx, "SELECT digest FROM pgbox.schema_digest").Scan(&stored)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return false, err
	}
	return stored == s.digest, nil
}

// lockAll takes the tables and views for itself. The fence is first and then the table of sandboxes, because nearly
// every transaction of a gateway begins with one of them: those that are under way end, as nothing else is in their
// way, and the next ones wait with nothing in their hands. It is one statement, so that on a busy machine the time goes
// into waiting and not into round trips.
func lockAll(ctx context.Context, tx pgx.Tx) error {
	var lock *string
	err := tx.QueryRow(ctx, `
		SELECT 'LOCK TABLE ' || string_agg(format('%I.%I', n.nspname, c.relname), ', ' 
		           ORDER BY c.oid IS DISTINCT FROM to_regclass('fs.fence'), c.oid IS DISTINCT FROM to_regclass('pgbox.sandbox'), c.relkind DESC, c.relname) || ' IN ACCESS EXCLUSIVE MODE'
		  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		 WHERE n.nspname IN ('fs', 'pgbox') AND c.relkind IN ('r', 'v')`).Scan(&lock)
	if err != nil || lock == nil {
		return err
	}
	if err := run(ctx, tx, "SET LOCAL statement_timeout = '"+lockPhase+"'"); err != nil {
		return err
	}
	err = run(ctx, tx, *lock)
	if pe, ok := errors.AsType[*pgconn.PgError](err); ok && pe.Code == "57014" {
		return errBusy
	}
	if err != nil {
		return err
	}
	return run(ctx, tx, "SET LOCAL statement_timeout TO DEFAULT")
}

// applied are the versions that the database has, none where it has no table of them.
func applied(ctx context.Context, conn Querier) (done []int64, err error) {
	var exists bool
	if err := conn.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", versionTable).Scan(&exists); err != nil || !exists {
		return nil, err
	}
	err = conn.QueryRow(ctx, "SELECT coalesce(array_agg(version_id), '{}') FROM "+versionTable+
		" WHERE is_applied").Scan(&done)
	return done, err
}

// run executes a text of statements.
func run(ctx context.Context, tx pgx.Tx, text string) error {
	_, err := tx.Conn().PgConn().Exec(ctx, text).ReadAll()
	return err
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
	done, err := applied(ctx, conn)
	if err != nil {
		return st, err
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
		serves              []string
	)
	err = conn.QueryRow(ctx, "SELECT s.version, s.digest, s.fingerprint, ("+fingerprint+"), s.serves FROM fs.schema() s").
		Scan(&have, &digest, &stored, &now, &serves)
	if pe, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch pe.Code {
		case "42883", "3F000", "42P01":
			return &SchemaError{ErrNotMigrated, "none", strconv.FormatInt(src.version, 10),
				"run `pgbox migrate up` with DATABASE_DIRECT_URL"}
		case "42703":
			return &SchemaError{ErrOlder, "unknown", strconv.FormatInt(src.version, 10), "run `pgbox migrate up` of this binary"}
		case "42501":
			return &SchemaError{ErrGrant, "no rights", "those of pgbox_gateway",
				"as a superuser run: GRANT pgbox_gateway TO " + user(ctx, conn) + ";"}
		}
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return &SchemaError{ErrNotMigrated, "none", strconv.FormatInt(src.version, 10),
			"run `pgbox migrate up` with DATABASE_DIRECT_URL"}
	}
	switch {
	case err != nil:
		return fmt.Errorf("migrate: check: %w", err)
	case stored != now:
		return &SchemaError{ErrTampered, short(now), short(stored),
			"find out who changed the functions; `DELETE FROM pgbox.schema_digest` and `pgbox migrate up` restore them"}
	case slices.Contains(serves, src.digest):
		return nil // of the next release, which has all that this one needs
	case have < src.version:
		return &SchemaError{ErrOlder, strconv.FormatInt(have, 10), strconv.FormatInt(src.version, 10),
			"run `pgbox migrate up` of this binary"}
	case have > src.version:
		return newer(have, src.version)
	case digest != src.digest:
		return &SchemaError{ErrDigest, short(digest), short(src.digest),
			"run `pgbox migrate up` of the binary that is to serve"}
	}
	return nil
}

// user is who is connected, quoted for a statement.
func user(ctx context.Context, conn Querier) string {
	var name string
	if err := conn.QueryRow(ctx, "SELECT quote_ident(current_user)").Scan(&name); err != nil {
		return "the user of DATABASE_URL"
	}
	return name
}

func newer(have, want int64) error {
	return &SchemaError{ErrNewer, strconv.FormatInt(have, 10), strconv.FormatInt(want, 10),
		"upgrade this binary; a newer one has migrated the database"}
}

func short(digest string) string { return digest[:min(12, len(digest))] }

// fingerprint is a query over the catalog for the functions as they are now.
// Only what survives a major upgrade of Postgres unchanged goes in.
const fingerprint = `SELECT md5(string_agg(concat_ws('|', n.nspname, p.proname, pg_catalog.pg_get_function_identity_arguments(p.oid), p.prosrc, p.prosecdef, p.proowner::regrole, p.proconfig), E'\n'
	ORDER BY n.nspname COLLATE "C", p.proname COLLATE "C", pg_catalog.pg_get_function_identity_arguments(p.oid) COLLATE "C"))
	FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname IN ('fs', 'pgbox')`

// open connects to a database, for goose and for us over the same connection.
func open(ctx context.Context, connString string) (*sql.DB, *pgx.Conn, error) {
	cfg, err := pgx.ParseConfig(connString)
	if err != nil {
		return nil, nil, errors.New("the database URL cannot be parsed") // the error's own text may hold the password
	}
	// Functions get other bodies under the same names: keep no prepared statements.
	cfg.DefaultQueryExecMode = pgx.QueryExecModeExec
	// NOTICE of "already exists" is the normal case here.
	cfg.OnNotice = func(*pgconn.PgConn, *pgconn.Notice) {}
	c := &connector{Connector: stdlib.GetConnector(*cfg)}
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(1)
	if err := db.PingContext(ctx); err != nil {
		_ = db.Close()
		return nil, nil, err
	}
	return db, c.conn, nil
}

// connector gives goose the one connection there is, whose transaction is Up's: what goose begins is a savepoint in it.
type connector struct {
	driver.Connector
	conn *pgx.Conn
}

func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	if c.conn != nil {
		return nil, errors.New("migrate: the connection that held the lock was lost")
	}
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	inner := conn.(*stdlib.Conn)
	c.conn = inner.Conn()
	return savepoints{inner}, nil
}

type savepoints struct{ *stdlib.Conn }

// ResetSession keeps the connection as it is: in the midst of a transaction.
func (s savepoints) ResetSession(context.Context) error { return nil }

func (s savepoints) Begin() (driver.Tx, error) {
	return s.BeginTx(context.Background(), driver.TxOptions{})
}

func (s savepoints) BeginTx(ctx context.Context, _ driver.TxOptions) (driver.Tx, error) {
	_, err := s.Conn.Conn().Exec(ctx, "SAVEPOINT migration")
	return savepoint{ctx, s.Conn.Conn()}, err
}

type savepoint struct {
	ctx  context.Context
	conn *pgx.Conn
}

func (s savepoint) Commit() error {
	_, err := s.conn.Exec(s.ctx, "RELEASE migration")
	return err
}

func (s savepoint) Rollback() error {
	_, err := s.conn.Exec(context.WithoutCancel(s.ctx), "ROLLBACK TO migration")
	return err
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
