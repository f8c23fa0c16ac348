package replication

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pglogrepl"
	"github.com/jackc/pgx/v5/pgconn"
)

// The SQL of this package. $1 is the publication, $2 the tables.
const (
	sqlFacts = `
SELECT json_build_object(
    'recovery', pg_is_in_recovery(),
    'walLevel', current_setting('wal_level'),
    'user', current_user,
    'mayReplicate', (SELECT r.rolsuper OR r.rolreplication FROM pg_roles r WHERE r.rolname = current_user)
        OR EXISTS (SELECT FROM pg_roles r WHERE r.rolname = 'rds_replication' AND pg_has_role(r.oid, 'MEMBER')),
    'maxSlots', current_setting('max_replication_slots')::integer,
    'slots', (SELECT count(*) FROM pg_replication_slots),
    'maxSenders', current_setting('max_wal_senders')::integer,
    'senders', (SELECT count(*) FROM pg_stat_replication),
    'publication', (
        SELECT json_build_object('insert', p.pubinsert, 'update', p.pubupdate, 'delete', p.pubdelete, 'truncate', p.pubtruncate)
          FROM pg_publication p WHERE p.pubname = $1),
    'published', coalesce((
        SELECT json_agg(json_build_object('name', p.schemaname || '.' || p.tablename, 'columns', p.attnames::text[], 'filter', p.rowfilter))
          FROM pg_publication_tables p WHERE p.pubname = $1), '[]'),
    'tables', coalesce((
        SELECT json_agg(json_build_object(
            'name', n.nspname || '.' || c.relname,
            'columns', ARRAY(SELECT a.attname::text FROM pg_attribute a
                              WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''),
            'identity', c.relreplident,
            'key', ARRAY(SELECT a.attname::text FROM pg_index i JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey)
                          WHERE i.indrelid = c.oid
                            AND CASE c.relreplident WHEN 'd' THEN i.indisprimary WHEN 'i' THEN i.indisreplident ELSE false END)))
          FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname || '.' || c.relname = ANY ($2::text[])), '[]'))::text`
	sqlFlushed     = `SELECT pg_current_wal_flush_lsn()::text`
	sqlLockTimeout = `SET lock_timeout = '5s'`
)

// connect opens a connection of its own; replicating makes it one that can stream.
func connect(ctx context.Context, url string, replicating bool) (*pgconn.PgConn, error) {
	c, err := pgconn.ParseConfig(url)
	if err != nil {
		return nil, errors.New("the database URL cannot be parsed") // the error's own text may hold the password
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = 5 * time.Second
	}
	// The gateway's role may not replicate; the user behind it may. The others are meant for pgx and unknown to the
	// server.
	for k := range c.RuntimeParams {
		switch k {
		case "role", "default_query_exec_mode", "statement_cache_capacity", "description_cache_capacity":
			delete(c.RuntimeParams, k)
		}
		if strings.HasPrefix(k, "pool_") {
			delete(c.RuntimeParams, k)
		}
	}
	c.RuntimeParams["application_name"] = "pgbox listener"
	if replicating {
		c.RuntimeParams["replication"] = "database"
	}
	return pgconn.ConnectConfig(ctx, c)
}

// Preflight looks for what would keep a listener from working, over an ordinary connection to the database at url.
func Preflight(ctx context.Context, url, publication string, tables []string) ([]Finding, error) {
	conn, err := connect(ctx, url, false)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	return preflight(ctx, conn, publication, tables)
}

func preflight(ctx context.Context, conn *pgconn.PgConn, publication string, tables []string) ([]Finding, error) {
	list := make([]string, len(tables))
	for i, t := range tables {
		list[i] = quote(t)
	}
	data, err := value(ctx, conn, sqlFacts, publication, "{"+strings.Join(list, ",")+"}")
	if err != nil {
		return nil, err
	}
	var f facts
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, err
	}
	return f.check(publication, tables), nil
}

// value is the only value of a query's only row.
func value(ctx context.Context, conn *pgconn.PgConn, sql string, args ...string) ([]byte, error) {
	raw := make([][]byte, len(args))
	for i, a := range args {
		raw[i] = []byte(a)
	}
	r := conn.ExecParams(ctx, sql, raw, nil, nil, nil).Read()
	if r.Err != nil {
		return nil, r.Err
	}
	if len(r.Rows) != 1 || len(r.Rows[0]) != 1 {
		return nil, fmt.Errorf("%d rows where one was expected", len(r.Rows))
	}
	return r.Rows[0][0], nil
}

// flushed is how far the server's log is on disk: behind everything committed before.
func flushed(ctx context.Context, conn *pgconn.PgConn) (LSN, error) {
	v, err := value(ctx, conn, sqlFlushed)
	if err != nil {
		return 0, err
	}
	return ParseLSN(string(v))
}

// slot is a stream about to begin.
type slot struct {
	name     string
	system   string // identifier of the cluster
	timeline int32
	start    LSN // every transaction that commits after this is streamed
}

// open makes a temporary slot and starts streaming from it.
func open(ctx context.Context, conn *pgconn.PgConn, publication string) (*slot, error) {
	sys, err := pglogrepl.IdentifySystem(ctx, conn)
	if err != nil {
		return nil, fmt.Errorf("IDENTIFY_SYSTEM: %w", err)
	}
	if _, err := conn.Exec(ctx, sqlLockTimeout).ReadAll(); err != nil {
		return nil, fmt.Errorf("lock_timeout: %w", err)
	}
	id := make([]byte, 8)
	_, _ = rand.Read(id) // never fails
	s := &slot{name: "pgbox_" + hex.EncodeToString(id), system: sys.SystemID, timeline: sys.Timeline}
	made, err := pglogrepl.CreateReplicationSlot(ctx, conn, s.name, "pgoutput", pglogrepl.CreateReplicationSlotOptions{
		Temporary: true, Mode: pglogrepl.LogicalReplication, SnapshotAction: "NOEXPORT_SNAPSHOT",
	})
	if err != nil {
		return nil, fmt.Errorf("CREATE_REPLICATION_SLOT: %w", err)
	}
	if s.start, err = ParseLSN(made.ConsistentPoint); err != nil {
		return nil, err
	}
	err = pglogrepl.StartReplication(ctx, conn, s.name, pglogrepl.LSN(s.start), pglogrepl.StartReplicationOptions{
		Mode: pglogrepl.LogicalReplication,
		PluginArgs: []string{"proto_version '1'", "binary 'true'",
			"publication_names '" + strings.ReplaceAll(quote(publication), "'", "''") + "'"},
	})
	if err != nil {
		return nil, fmt.Errorf("START_REPLICATION: %w", err)
	}
	return s, nil
}
