package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
)

// proxy stands between a pgbox process and Postgres and counts round trips: the messages after which a client
// waits for the server (Sync and Query in the frontend protocol).
type proxy struct {
	l      net.Listener
	trips  atomic.Int64
	socket string
	wg     sync.WaitGroup
}

func newProxy(ctx context.Context, dbURL string) (*proxy, string, error) {
	u, err := url.Parse(dbURL)
	if err != nil {
		return nil, "", err
	}
	q := u.Query()
	p := &proxy{socket: q.Get("host") + "/.s.PGSQL." + q.Get("port")}
	if p.l, err = new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
		return nil, "", err
	}
	u.Host = p.l.Addr().String()
	u.RawQuery = "sslmode=disable"
	p.wg.Go(func() { p.serve(ctx) })
	return p, u.String(), nil
}

func (p *proxy) serve(ctx context.Context) {
	for {
		client, err := p.l.Accept()
		if err != nil {
			return
		}
		server, err := new(net.Dialer).DialContext(ctx, "unix", p.socket)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.wg.Go(func() {
			_, _ = io.Copy(client, server)
			_ = client.Close()
		})
		p.wg.Go(func() {
			p.count(client, server)
			_ = server.Close()
		})
	}
}

// count forwards the client's messages. The first one has no type byte.
func (p *proxy) count(client io.Reader, server io.Writer) {
	r := bufio.NewReaderSize(client, 1<<20)
	for startup := true; ; startup = false {
		head := make([]byte, 5)
		if startup {
			head = head[:4]
		}
		if _, err := io.ReadFull(r, head); err != nil {
			return
		}
		if !startup && (head[0] == 'S' || head[0] == 'Q') {
			p.trips.Add(1)
		}
		if _, err := server.Write(head); err != nil {
			return
		}
		if _, err := io.CopyN(server, r, int64(binary.BigEndian.Uint32(head[len(head)-4:]))-4); err != nil {
			return
		}
	}
}

func (p *proxy) stop() {
	_ = p.l.Close()
	p.wg.Wait()
}
