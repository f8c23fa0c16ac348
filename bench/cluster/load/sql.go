package load

import (
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgbox/pgbox/bench/cluster/history"
)

// home is where the scripts work.
const home = "/home/user/"

// sqlChange makes the change of a token in SQL, as one transaction. The outcome is what psql's user would know of it.
func sqlChange(ctx context.Context, url, sandbox, token string) (history.Outcome, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return history.Refused, err
	}
	defer hangUp(ctx, conn)
	tx, err := conn.Begin(ctx)
	if err != nil {
		return history.Refused, err
	}
	if err := sqlStatements(ctx, tx, sandbox, token); err != nil {
		return history.Refused, err
	}
	err = tx.Commit(ctx)
	var pg *pgconn.PgError
	switch {
	case err == nil:
		return history.Applied, nil
	case errors.As(err, &pg) && pg.SeverityUnlocalized == "ERROR":
		return history.Refused, err
	}
	return history.Unknown, err
}

func sqlStatements(ctx context.Context, tx pgx.Tx, sandbox, token string) error {
	line := []byte(token + "\n")
	if _, err := tx.Exec(ctx, "SELECT fs.use($1)", sandbox); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "SELECT fs.append_file($1, $2)", home+"log", line); err != nil {
		return err
	}
	switch token[0] {
	case history.Multi:
		_, err := tx.Exec(ctx, "SELECT fs.write_file($1 || f, $2) FROM generate_series(1, 4) f", home+"m/", line)
		return err
	case history.Grow:
		_, err := tx.Exec(ctx, "SELECT fs.append_file($1, $2)", home+"big", []byte(history.Growth(token)))
		return err
	case history.Move:
		// The append has taken the sandbox: what is read now stays.
		box, err := names(ctx, tx, home+"a")
		if err != nil {
			return err
		}
		from, to := home+"a/box", home+"b/box"
		if len(box) == 0 {
			from, to = to, from
		}
		if _, err := tx.Exec(ctx, "SELECT fs.mv($1, $2)", from, to); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "SELECT fs.write_file($1, $2)", to+"/who", line)
		return err
	case history.Toggle:
		key := fmt.Sprint(history.Key(token))
		all, err := names(ctx, tx, home+"tmp")
		if err != nil {
			return err
		}
		for _, name := range all {
			if name == key {
				_, err := tx.Exec(ctx, "SELECT fs.rm($1)", home+"tmp/"+key)
				return err
			}
		}
		_, err = tx.Exec(ctx, "SELECT fs.write_file($1, $2)", home+"tmp/"+key, line)
		return err
	}
	return nil
}

func names(ctx context.Context, tx pgx.Tx, dir string) ([]string, error) {
	rows, err := tx.Query(ctx, "SELECT name FROM fs.readdir($1) ORDER BY name COLLATE \"C\"", dir)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// hangUp closes a connection, which ends its transaction. It does not wait for an answer: a server that was lost
// unnoticed gives none.
func hangUp(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = conn.Close(ctx)
}

// sqlShow is what history.Show would print, read in one snapshot of the database.
func sqlShow(ctx context.Context, url, sandbox string) (shown string, version int64, err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return "", 0, err
	}
	defer hangUp(ctx, conn)
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return "", 0, err
	}
	if _, err := tx.Exec(ctx, "SELECT fs.use($1)", sandbox); err != nil {
		return "", 0, err
	}
	if err := tx.QueryRow(ctx, "SELECT version FROM fs.fence($1)", sandbox).Scan(&version); err != nil {
		return "", 0, err
	}
	read := func(path string) (out []byte) {
		if err == nil {
			err = tx.QueryRow(ctx, "SELECT fs.read_file($1)", home+path).Scan(&out)
		}
		return out
	}
	list := func(path string) (out []string) {
		if err == nil {
			out, err = names(ctx, tx, home+path)
		}
		return out
	}
	log := read("log")
	multi := ""
	for _, f := range []string{"1", "2", "3", "4"} {
		multi += string(read("m/" + f))
	}
	var boxes []string
	who := ""
	for _, d := range []string{"a", "b"} {
		for _, name := range list(d) {
			boxes = append(boxes, d)
			who += string(read(d + "/" + name + "/who"))
		}
	}
	var keys [history.Keys]string
	for _, name := range list("tmp") {
		var k int
		if _, e := fmt.Sscan(name, &k); e == nil && k >= 0 && k < history.Keys {
			keys[k] = strings.TrimSuffix(string(read("tmp/"+name)), "\n")
		}
	}
	big := read("big")
	shown = history.Render(string(log), multi, strings.Join(boxes, " "), who, keys, len(big),
		fmt.Sprintf("%x", md5.Sum(big))) + "==\n"
	for _, name := range list("put") {
		shown += name + "\n"
	}
	return shown, version, err
}
