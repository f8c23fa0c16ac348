package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgbox/pgbox/sql/migrate"
)

// schemaProbe asks the database whether this binary may serve it. It has one connection, which it keeps; callers take
// turns.
type schemaProbe struct {
	url string

	mu   sync.Mutex
	conn *pgx.Conn
}

func (p *schemaProbe) check(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conn == nil || p.conn.IsClosed() {
		conn, err := connect(ctx, p.url)
		if err != nil {
			return err
		}
		p.conn = conn
	}
	err := migrate.Check(ctx, p.conn)
	var refused *migrate.SchemaError
	if err != nil && !errors.As(err, &refused) {
		p.drop() // the next check begins with a new one
	}
	return err
}

func (p *schemaProbe) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop()
}

func (p *schemaProbe) drop() {
	if p.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = p.conn.Close(ctx)
		p.conn = nil
	}
}

// down is what /readyz says of the database.
func (p *schemaProbe) down(ctx context.Context) (name, why string) {
	err := p.check(ctx)
	var refused *migrate.SchemaError
	switch {
	case err == nil:
		return "", ""
	case errors.As(err, &refused):
		return "schema", refused.Err.Error() + ": " + refused.Advice // no address, no SQL
	}
	return "postgres", "does not answer"
}

// connect opens a connection that works behind a transaction pooler, too.
func connect(ctx context.Context, url string) (*pgx.Conn, error) {
	cc, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, errors.New("DATABASE_URL cannot be parsed") // the error's own text may hold the password
	}
	cc.DefaultQueryExecMode = pgx.QueryExecModeExec
	return pgx.ConnectConfig(ctx, cc)
}

// checkSchema refuses a database that this binary must not serve.
func checkSchema(ctx context.Context, url string) error {
	p := &schemaProbe{url: url}
	defer p.close()
	return p.check(ctx)
}
