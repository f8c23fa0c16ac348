package utillinux

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
)

// parallelMost is how many jobs run at once, whatever -j says: each costs the exec several goroutines.
const (
	parallelMost       = 32
	parallelMostNested = 4 // within a job of another parallel
)

// parallelStart is how long it takes to start a job. What ends within it ends in order, as with the real one, for which
// starting takes that long.
const parallelStart = 10 * time.Millisecond

// run starts a job as soon as one more may run, and reports whether to go on.
func (r *parallelRun) run(job *parallelJob) bool {
	p := r.p
	for len(r.running) >= r.most {
		r.reap(nil)
	}
	if r.halted {
		return false
	}
	job.slot = (job.seq-1)%r.jobs + 1
	for n := 1; slices.ContainsFunc(r.running, func(o *parallelJob) bool { return o.slot == job.slot }); n++ {
		job.slot = n
	}
	job.line = r.commandLine(job)
	if r.shellQuoteOnly {
		p.Out.WriteString(parallelQuote(strings.Join(job.args, " ")) + "\n")
		return true
	}
	if r.dry {
		p.Out.WriteString(job.line + "\n")
		return true
	}
	if job.seq > 1 && r.delay > 0 {
		if status := program.Pause(r.ctx, p, r.delay); status != 0 {
			r.halted, r.status = true, status
			return false
		}
	}
	if r.verbose && !r.keep {
		p.Out.WriteString(job.line + "\n")
	}
	if r.trace {
		p.Out.Flush()
		p.Err.WriteString(job.line + "\n")
	}
	job.started = p.Now()
	r.launch(job)
	if r.most == 1 {
		r.drain()
		return !r.halted
	}
	timer := time.NewTimer(parallelStart)
	defer timer.Stop()
	for slices.Contains(r.running, job) && r.reap(timer.C) {
	}
	return !r.halted
}

// launch starts the command of a job.
func (r *parallelRun) launch(job *parallelJob) {
	p := r.p
	job.tries++
	job.out, job.errs = proc.NewBuffer(p), proc.NewBuffer(p)
	child := p.Shell(job.line, bytes.NewReader(job.stdin), job.out)
	child.Args[0] = "/usr/bin/bash"
	child.Stderr = job.errs
	env := p.Variables()
	child.Env = env.Set("PARALLEL_SEQ=" + strconv.Itoa(job.seq)).Set("PARALLEL_JOBSLOT=" +
		strconv.Itoa(job.slot)).Set("PARALLEL_PID=" + strconv.Itoa(p.PID))
	if r.timeout > 0 {
		job.ctx, job.cancel = context.WithTimeout(r.ctx, r.timeout)
	} else {
		job.ctx, job.cancel = context.WithCancel(r.ctx)
	}
	p.Out.Flush()
	r.running = append(r.running, job)
	job.child = p.Start(job.ctx, child, func() { r.ended <- job })
}

// reap waits for the end of a job, or for give, and deals with what has ended. It reports whether something has.
func (r *parallelRun) reap(give <-chan time.Time) bool {
	var list []*parallelJob
	r.p.Pause()
	select {
	case job := <-r.ended:
		list = append(list, job)
	case <-give:
		return false
	}
	for more := true; more; {
		select {
		case job := <-r.ended:
			list = append(list, job)
		default:
			more = false
		}
	}
	slices.SortFunc(list, func(a, b *parallelJob) int { return a.seq - b.seq })
	for _, job := range list {
		r.settle(job)
	}
	return true
}

// settle prints what a job has said, or starts it once more.
func (r *parallelRun) settle(job *parallelJob) {
	p := r.p
	job.status = job.child.Wait(p)
	job.timedOut = r.timeout > 0 && job.ctx.Err() != nil && r.ctx.Err() == nil && !r.halted
	job.cancel()
	p.Tick(256)
	r.running = slices.DeleteFunc(r.running, func(o *parallelJob) bool { return o == job })
	if r.halted && r.haltNow { // ended on purpose
		p.Release(job.out.Len() + job.errs.Len())
		return
	}
	if job.status != 0 && job.tries < r.retries {
		p.Release(job.out.Len() + job.errs.Len())
		r.launch(job)
		return
	}
	if r.joblog != "" {
		fmt.Fprintf(&r.log, "%d\t:\t%.3f\t%10.3f\t%d\t%d\t%d\t%d\t%s\n", job.seq, float64(job.started.UnixMilli())/1000,
			p.Now().Sub(job.started).Seconds(), len(job.stdin), job.out.Len(), job.status, 0, job.line)
	}
	if r.keep {
		r.finished[job.seq] = job
		for r.finished[r.next] != nil {
			r.report(r.finished[r.next])
			delete(r.finished, r.next)
			r.next++
		}
	} else {
		r.report(job)
	}
	if job.status == 0 {
		r.succeeded++
	} else {
		r.failed++
	}
	if r.halted {
		return
	}
	what := ""
	switch {
	case r.haltFail > 0 && r.failed >= r.haltFail:
		what = "failed"
	case r.haltSuccess > 0 && r.succeeded >= r.haltSuccess:
		what = "succeeded"
	default:
		return
	}
	p.Out.Flush()
	p.Err.WriteString("parallel: This job " + what + ":\n" + job.line + "\n")
	r.halted, r.status = true, job.status
	if !r.haltNow && len(r.running) > 0 {
		p.Err.WriteString("parallel: Starting no more jobs. Waiting for " + strconv.Itoa(len(r.running)) +
			" jobs to finish.\n")
	}
	if r.haltNow {
		for _, o := range r.running {
			o.cancel()
		}
	}
}

// report prints what a job has said.
func (r *parallelRun) report(job *parallelJob) {
	p := r.p
	if r.verbose && r.keep {
		p.Out.WriteString(job.line + "\n")
	}
	if r.results == "" {
		r.show(job, job.out.Bytes(), p.Out)
		p.Out.Flush()
		r.show(job, job.errs.Bytes(), p.Err)
	} else {
		r.save(job, job.out.Bytes(), job.errs.Bytes())
	}
	p.Release(job.out.Len() + job.errs.Len())
	if job.timedOut {
		p.Err.WriteString("parallel: Warning: This job was killed because it timed out:\nparallel: Warning: " + job.line +
			"\n")
	}
}

// drain waits for all jobs.
func (r *parallelRun) drain() {
	for len(r.running) > 0 {
		r.reap(nil)
	}
	// What ended after a job that never did.
	for len(r.finished) > 0 {
		if job := r.finished[r.next]; job != nil {
			r.report(job)
			delete(r.finished, r.next)
		}
		r.next++
	}
}

// stop ends what still runs: no job outlives the command.
func (r *parallelRun) stop() {
	for _, job := range r.running {
		job.cancel()
	}
	for _, job := range r.running {
		if job.child != nil {
			job.child.Wait(r.p)
		}
		r.p.Release(job.out.Len() + job.errs.Len())
	}
	r.running = nil
}
