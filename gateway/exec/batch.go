package exec

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/pgbox/pgbox/gateway/fserr"
)

// ExecBatch runs scripts in sequence, one commit each, the working directory carried from one to the next;
// read-only batches run in parallel on one snapshot. The results are in the order of the scripts. An error
// means that the batch as a whole failed.
func (s *Service) ExecBatch(ctx context.Context, b BatchRequest) ([]BatchResult, error) {
	ctx, end, err := s.calls.begin(ctx)
	if err != nil {
		return nil, toError(err)
	}
	defer end()
	if b.Timeout <= 0 {
		b.Timeout = s.cfg.Timeout
	}
	b.Timeout = min(b.Timeout, s.cfg.MaxTimeout)
	if b.ReadOnly {
		out, err := s.readBatch(ctx, &b)
		return out, toError(err)
	}
	lease, err := s.acquire(ctx, b.Caller, b.Sandbox)
	if err != nil {
		return nil, toError(err)
	}
	defer lease.Unlock()
	deadline := time.Now().Add(b.Timeout)
	out := make([]BatchResult, len(b.Scripts))
	for i, sc := range b.Scripts {
		out[i] = BatchResult{ID: sc.ID, Result: Result{ExitCode: -1}}
		left := time.Until(deadline)
		if left <= 0 {
			out[i].Err = asError(errTimeout{b.Timeout})
			continue
		}
		r := b.request(sc, left)
		var res *Result
		err := s.normalize(&r)
		if err == nil {
			res, err = s.write(ctx, lease, &r)
		}
		out[i].set(res, err)
		// What concerns the sandbox and not the script ends the batch; what was committed so far is in the results before.
		if err != nil && i == 0 && res == nil {
			return nil, toError(err)
		}
	}
	return out, nil
}

// request is one script as a request of its own.
func (b *BatchRequest) request(sc BatchScript, left time.Duration) Request {
	timeout := left
	if b.ScriptTimeout > 0 {
		timeout = min(left, b.ScriptTimeout)
	}
	return Request{Sandbox: b.Sandbox, Caller: b.Caller, Script: sc.Script, Timeout: timeout, ReadOnly: b.ReadOnly, Session: b.Session}
}

func (r *BatchResult) set(res *Result, err error) {
	if res != nil {
		r.Result = *res
	}
	if err != nil {
		r.Err, r.ExitCode = asError(err), -1
	}
}

func (s *Service) readBatch(ctx context.Context, b *BatchRequest) ([]BatchResult, error) {
	pin, err := s.pinRead(ctx, b.Caller, b.Sandbox)
	if err != nil {
		return nil, err
	}
	defer pin.Release()
	out := make([]BatchResult, len(b.Scripts))
	deadline := time.Now().Add(b.Timeout)
	var wg sync.WaitGroup
	// An owner's own bound is what limits the scripts that run at once: more goroutines would only wait at the gate.
	slots := make(chan struct{}, min(s.cfg.MaxOwnerRuns, s.cfg.MaxRuns))
	for i, sc := range b.Scripts {
		out[i] = BatchResult{ID: sc.ID, Result: Result{ExitCode: -1}}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			left := time.Until(deadline)
			if left <= 0 {
				out[i].Err = asError(errTimeout{b.Timeout})
				return
			}
			r := b.request(sc, left)
			var res *Result
			err := s.normalize(&r)
			if err == nil {
				res, err = s.read(ctx, &r, &pin)
			}
			out[i].set(res, err)
		})
	}
	wg.Wait()
	for i := range out {
		if e := out[i].Err; e != nil && e.Code == fserr.CodeReadOnlyViolation {
			return nil, e
		}
	}
	if ctx.Err() != nil && !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return nil, context.Cause(ctx)
	}
	return out, nil
}

// Shutdown refuses new work with ESHUTTINGDOWN, waits for what runs until ctx is done, then ends it: what was
// ended has applied nothing. It returns when nothing runs any more.
func (s *Service) Shutdown(ctx context.Context) error {
	defer s.dog.close()
	return s.calls.drain(ctx)
}
