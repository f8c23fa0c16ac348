package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pgbox/pgbox/gateway/sandbox"
	"github.com/pgbox/pgbox/gateway/shell/command"
	"github.com/pgbox/pgbox/gateway/store"
	"github.com/pgbox/pgbox/gateway/vfs"
)

// Create a sandbox, run a script in it, fork it, and take the script back.
func Example() {
	ctx := context.Background()
	st, err := store.Open(ctx, store.Config{URL: "postgres://gateway@localhost/app", Role: "pgbox_gateway"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer st.Close()
	s := sandbox.New(sandbox.Config{Store: st, Commands: command.All()})
	defer func() { _ = s.Shutdown(ctx) }()

	me := sandbox.Caller{Tenant: "default", Subject: "ann", Route: "example"}
	b, err := s.CreateSandbox(ctx, me, sandbox.NewSandbox{Name: "work"})
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := s.Exec(ctx, sandbox.Request{Sandbox: b.ID, Caller: me, Script: "mkdir src && date > src/now",
		Timeout: 5 * time.Second})
	var e *sandbox.Error
	if errors.As(err, &e) {
		fmt.Println(e.Code, "applied:", e.Applied, "retryable:", e.Retryable)
		return
	}
	fmt.Println(res.ExitCode, res.Version)

	forks, err := s.Fork(ctx, me, b.ID, "idea", 3, "")
	fmt.Println(len(forks), err)
	if _, err := s.Undo(ctx, me, b.ID, 1); errors.Is(err, vfs.ENOENT) {
		fmt.Println("there is no automatic snapshot to go back to")
	}
}
