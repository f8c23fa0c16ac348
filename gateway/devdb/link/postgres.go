package link

import (
	"encoding/binary"
	"errors"
	"net/url"
	"path/filepath"
	"sync/atomic"
)

// ToPostgres leads to the server of a connection string and returns the one that leads through the link.
func (l *Link) ToPostgres(target string) (string, error) {
	u, err := url.Parse(target)
	if err != nil {
		return "", errors.New("the database URL cannot be parsed") // the error's own text may hold the password
	}
	q := u.Query()
	if host := q.Get("host"); host != "" {
		port := q.Get("port")
		if port == "" {
			port = "5432"
		}
		l.To("unix", filepath.Join(host, ".s.PGSQL."+port))
	} else {
		l.To("tcp", u.Host)
	}
	q.Del("host")
	q.Del("port")
	q.Set("sslmode", "disable")
	u.RawQuery, u.Host = q.Encode(), l.Addr()
	return u.String(), nil
}

// Trips counts the messages after which a client of Postgres waits for the server: Sync and Query. It is the number of
// round trips. Its Tap is for [Link.Tap]. https://www.postgresql.org/docs/current/protocol-message-formats.html
type Trips struct{ atomic.Int64 }

// Tap reads what one connection sends.
func (t *Trips) Tap() func(b []byte) {
	var (
		head  []byte
		size  = 4 // of the head of the message under way: the first has no type
		skip  int // bytes of it still to come
		first = true
	)
	return func(b []byte) {
		for len(b) > 0 {
			if skip > 0 {
				n := min(skip, len(b))
				skip -= n
				b = b[n:]
				continue
			}
			n := min(size-len(head), len(b))
			head = append(head, b[:n]...)
			b = b[n:]
			if len(head) < size {
				return
			}
			if !first && (head[0] == 'S' || head[0] == 'Q') {
				t.Add(1)
			}
			skip = int(binary.BigEndian.Uint32(head[size-4:])) - 4
			first, size, head = false, 5, head[:0]
		}
	}
}
