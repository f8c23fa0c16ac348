package replication_test

import (
	"context"
	"fmt"
	"time"

	"github.com/pgbox/pgbox/replication"
)

// printer prints the name of each table that a transaction changes.
type printer struct{ tables []string }

func (p *printer) Reset(string)             { p.tables = nil }
func (p *printer) Begin(*replication.Begin) { p.tables = nil }
func (p *printer) Change(c *replication.Change) error {
	p.tables = append(p.tables, c.Relation.Namespace+"."+c.Relation.Name)
	return nil
}
func (p *printer) Commit(c *replication.Commit) { fmt.Println(c.LSN, p.tables) }

// Follow a database for a minute.
func Example() {
	l := replication.New(replication.Config{
		URL: "postgres://listener@localhost/app", Publication: "pgbox", Tables: []string{"pgbox.inode", "pgbox.dirent"},
		Handler: &printer{},
	})
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	go l.Run(ctx)
	<-l.Tried()            // connected, or the preflight said what is missing
	fmt.Println(l.State()) // which of the two
	fmt.Println(l.Fresh(100 * time.Millisecond))
	<-ctx.Done()
}
