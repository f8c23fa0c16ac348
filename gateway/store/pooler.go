package store

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgbox/pgbox/sqlcgen"
)

// pooler finds out, with the first connection, whether a pooler (PgBouncer, transaction pooling) stands between us and
// Postgres, and makes connections fit for that: it refuses the parameters of a session, and a statement prepared over
// it may meet another session the next time.
type pooler struct {
	auto bool // choose the exec mode too

	mu      sync.Mutex
	decided bool
	pooled  bool
}

// The parameters of our sessions.
const (
	roleParam = "role"
	idleParam = "idle_in_transaction_session_timeout"
)

// unset removes what a pooler refuses.
func unset(cc *pgx.ConnConfig) {
	delete(cc.RuntimeParams, roleParam)
	delete(cc.RuntimeParams, idleParam)
}

// prepare is a pool's BeforeConnect.
func (p *pooler) prepare(ctx context.Context, cc *pgx.ConnConfig) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.decided {
		pooled, err := behindPooler(ctx, cc)
		if err != nil {
			return err
		}
		p.decided, p.pooled = true, pooled
	}
	if p.pooled {
		unset(cc)
		if p.auto {
			cc.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
		}
	}
	return nil
}

// protocolViolation is what a pooler answers to a parameter that it does not know. PostgreSQL, appendix A.
const protocolViolation = "08P01"

// behindPooler reports whether the process that answers is another one than the one that let us in: a pooler has no
// process of the server's for us until we ask something.
func behindPooler(ctx context.Context, cc *pgx.ConnConfig) (bool, error) {
	cc = cc.Copy()
	cc.DefaultQueryExecMode, cc.Tracer = pgx.QueryExecModeSimpleProtocol, nil
	conn, err := pgx.ConnectConfig(ctx, cc)
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == protocolViolation {
		unset(cc)
		conn, err = pgx.ConnectConfig(ctx, cc)
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	session, err := sqlcgen.New(conn).Session(ctx)
	if err != nil || uint32(session.PID) == conn.PgConn().PID() {
		return false, err
	}
	if session.Superuser {
		slog.WarnContext(ctx,
			"the pooler's sessions run as a superuser: let it log in as a member of pgbox_gateway that is nothing else", "op",
			"connect", "user", session.Role)
	}
	return true, nil
}
