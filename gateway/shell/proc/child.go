package proc

import "context"

// Running is a child that runs beside its parent.
type Running struct {
	done   chan struct{}
	status int
}

// Start runs child, as [Process.Exec] would, in a goroutine of the exec. The parent waits for it with [Running.Wait]
// before it ends; ctx ends it before. after, if there is one, is called in the child's goroutine when it has ended.
func (p *Process) Start(ctx context.Context, child *Process, after func()) *Running {
	budget := p.Budget
	if err := budget.Spawn(); err != nil {
		panic(Death{Status: 137, Killed: true, Cause: err})
	}
	r := &Running{done: make(chan struct{})}
	ctx, turn := budget.NewTurn(ctx)
	go func() {
		defer close(r.done)
		defer budget.Exited()
		defer turn.End()
		if after != nil {
			defer after()
		}
		defer func() {
			// The end of the exec is noticed by the parent itself at its next tick.
			if v := recover(); v != nil {
				r.status = 134
				if d, ok := v.(Death); ok {
					r.status = d.Status
				}
			}
		}()
		r.status = child.Spawn(ctx, child)
	}()
	return r
}

// Done is closed when the child has ended.
func (r *Running) Done() <-chan struct{} { return r.done }

// Wait waits for the end of the child and returns its exit status.
func (r *Running) Wait(p *Process) int {
	p.Pause()
	<-r.done
	return r.status
}
