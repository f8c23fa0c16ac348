package sandbox

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/pgbox/pgbox/gateway/lock"
	"github.com/pgbox/pgbox/gateway/store"
	"github.com/pgbox/pgbox/gateway/wire"
)

// ExecBatch runs scripts in sequence, one commit each, the working directory carried from one to the next;
// read-only batches run in parallel on one snapshot. The results are in the order of the scripts. An error
// means that the batch as a whole failed.
func (s *Service) ExecBatch(ctx context.Context, b BatchRequest) ([]BatchResult, error) {
	return call(ctx, s, func(ctx context.Context) ([]BatchResult, error) {
		if b.Timeout <= 0 {
			b.Timeout = s.cfg.Timeout
		}
		b.Timeout = min(b.Timeout, s.cfg.MaxTimeout)
		if err := b.Session.check(); err != nil {
			return nil, err
		}
		if b.ReadOnly {
			b.Caller.Key = nil // nothing to be done twice
			return s.readBatch(ctx, &b)
		}
		return s.writeBatch(ctx, &b)
	})
}

func (s *Service) writeBatch(ctx context.Context, b *BatchRequest) ([]BatchResult, error) {
	// Each script keeps its own answer, because each is a commit of its own: a repeat runs only those that were not.
	kept, unlock, err := s.keptParts(ctx, b)
	if err != nil {
		return nil, err
	}
	defer unlock()
	lease, err := s.acquire(ctx, b.Caller, b.Sandbox)
	if err != nil {
		return nil, err
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
		if k := b.Caller.Key; k != nil && err == nil {
			r.Caller.Key = k.part(i)
			res, err = s.part(ctx, lease, &r, kept)
		} else if err == nil {
			res, err = s.write(ctx, lease, &r)
		}
		out[i].set(res, err)
		// What concerns the sandbox and not the script ends the batch; what was committed so far is in the results before.
		if err != nil && i == 0 && res == nil {
			return nil, err
		}
	}
	return out, nil
}

// keptParts waits for an earlier request with the batch's key and returns what it kept, by key, and what to call when
// the batch is over.
func (s *Service) keptParts(ctx context.Context, b *BatchRequest) (map[string]store.Answer, func(), error) {
	k := b.Caller.Key
	if k == nil {
		return nil, func() {}, nil
	}
	lease, err := s.lock.Lock(ctx, k.lock(b.Caller))
	if err != nil {
		return nil, nil, err
	}
	parts := make([]*Key, len(b.Scripts))
	for i := range parts {
		parts[i] = k.part(i)
	}
	kept, err := s.recall(ctx, b.Caller, parts...)
	for _, a := range kept {
		err = errors.Join(err, k.kept(a, new(Result)))
	}
	if err != nil {
		lease.Unlock()
		return nil, nil, err
	}
	return kept, lease.Unlock, nil
}

// part runs one script of a batch, unless its result was kept.
func (s *Service) part(
	ctx context.Context, lease lock.Lease, r *Request, kept map[string]store.Answer,
) (*Result, error) {
	k := r.Caller.Key
	if a, ok := kept[k.Name]; ok {
		res := new(Result)
		return res, k.kept(a, res)
	}
	res, err := s.write(ctx, lease, r)
	if err == nil && !res.Committed {
		var a *store.Answer
		if a, err = k.answer(r.Caller, res); err == nil {
			err = s.store.Remember(ctx, a)
		}
	}
	if !errors.Is(err, store.ErrRepeated) {
		return res, err
	}
	kept, err = s.recall(ctx, r.Caller, k)
	if a, ok := kept[k.Name]; ok {
		res = new(Result)
		err = k.kept(a, res)
	}
	return res, err
}

// request is one script as a request of its own.
func (b *BatchRequest) request(sc BatchScript, left time.Duration) Request {
	timeout := left
	if b.ScriptTimeout > 0 {
		timeout = min(left, b.ScriptTimeout)
	}
	return Request{Sandbox: b.Sandbox, Caller: b.Caller, Script: sc.Script, Timeout: timeout, ReadOnly: b.ReadOnly,
		Session: b.Session}
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
		if e := out[i].Err; e != nil && e.Code == wire.CodeReadOnlyViolation {
			return nil, e
		}
	}
	if ctx.Err() != nil && !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return nil, context.Cause(ctx)
	}
	return out, nil
}

// Shutdown refuses new work with ESHUTTINGDOWN, waits for what runs until ctx is done, then ends it: what was
// ended has applied nothing. It returns when nothing runs any more and the audit log is written.
func (s *Service) Shutdown(ctx context.Context) error {
	defer s.dog.Close()
	defer s.log.close()
	return s.calls.drain(ctx)
}
