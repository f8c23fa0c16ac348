package load

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgbox/pgbox/bench/cluster/history"
)

// entry is one line of a listing.
type entry struct {
	Path  string `json:"path"`
	Kind  string `json:"kind"`
	Size  int64  `json:"size"`
	Mtime string `json:"mtime"`
}

// Compare holds what each replica shows of every sandbox that was checked against what Postgres has. Nothing may change
// any more.
func (l *Load) Compare(ctx context.Context) (found []string, err error) {
	conn, err := pgx.Connect(ctx, l.cfg.SQL)
	if err != nil {
		return nil, err
	}
	defer hangUp(ctx, conn)
	for _, id := range l.Sandboxes() {
		state, _, err := sqlShow(ctx, l.cfg.SQL, id)
		if err != nil {
			return nil, err
		}
		listing, err := sqlListing(ctx, conn, id)
		if err != nil {
			return nil, err
		}
		for _, r := range l.cfg.Replicas {
			a, err := r.Do(ctx, http.MethodPost, "/v1/sandboxes/"+id+"/exec-sync", "",
				map[string]any{"script": history.Show, "readOnly": true})
			if err != nil || !a.ok() {
				return nil, fmt.Errorf("%s does not show %s: %v, %w", r.Name, id, &a, err)
			}
			if a.Stdout != state {
				found = append(found, fmt.Sprintf("%s: %s shows another state than Postgres: %q, not %q", id, r.Name, a.Stdout,
					state))
			}
			got, err := r.listing(ctx, id)
			if err != nil {
				return nil, err
			}
			if got != listing {
				found = append(found, fmt.Sprintf("%s: %s lists another tree than Postgres:\n%s\nnot\n%s", id, r.Name, got,
					listing))
			}
		}
	}
	return found, nil
}

func (e *entry) String() string {
	size := e.Size
	if e.Kind == "dir" {
		size = 0 // has no meaning
	}
	return fmt.Sprintf("%s %s %d %s\n", e.Path, e.Kind, size, e.Mtime)
}

func (r Replica) listing(ctx context.Context, id string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URL+"/v1/sandboxes/"+id+"/tree?prefix=/home", nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+r.Token)
	res, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	var all []entry
	if err := json.NewDecoder(res.Body).Decode(&all); err != nil {
		return "", fmt.Errorf("the tree of %s at %s: status %d: %w", id, r.Name, res.StatusCode, err)
	}
	var b strings.Builder
	for i := range all {
		b.WriteString(all[i].String())
	}
	return b.String(), nil
}

func sqlListing(ctx context.Context, conn *pgx.Conn, id string) (string, error) {
	if _, err := conn.Exec(ctx, "SELECT fs.use($1)", id); err != nil {
		return "", err
	}
	rows, err := conn.Query(ctx, "SELECT path, kind, size, mtime FROM fs.tree('/home')")
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var b strings.Builder
	for rows.Next() {
		var e entry
		var kind int16
		var mtime int64
		if err := rows.Scan(&e.Path, &kind, &e.Size, &mtime); err != nil {
			return "", err
		}
		e.Kind = map[int16]string{4: "dir", 8: "file", 10: "symlink"}[kind]
		e.Mtime = time.Unix(0, mtime).UTC().Format("2006-01-02T15:04:05.000Z")
		b.WriteString(e.String())
	}
	return b.String(), rows.Err()
}
