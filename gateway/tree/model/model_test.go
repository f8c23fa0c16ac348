package model

import (
	"runtime"
	"testing"

	"github.com/pgbox/pgbox/gateway/vfs"
)

// wrong is the model with one verb that does nothing.
type wrong struct {
	*Model
	verb Verb
}

func (w wrong) Apply(op Op) (Result, vfs.Errno) {
	if op.Verb == w.verb {
		w.now++
		return Result{}, 0
	}
	return w.Model.Apply(op)
}

// failure takes the place of the testing.TB that Run reports to.
type failure struct {
	testing.TB
	failed bool
}

func (f *failure) Helper()             {}
func (f *failure) Logf(string, ...any) {}
func (f *failure) Fatalf(string, ...any) {
	f.failed = true
	runtime.Goexit()
}

// TestRunSeesEveryVerb proves that a target in which any one verb does nothing is found out.
func TestRunSeesEveryVerb(t *testing.T) {
	for _, v := range AllVerbs {
		var f failure
		fresh := func() Target { return wrong{New(Root(), nil, 0, 0), v} }
		done := make(chan struct{})
		go func() {
			defer close(done)
			Run(&f, Config{Seed: 1, Ops: 2000, Exact: true, New: fresh}, fresh())
		}()
		<-done
		if !f.failed {
			t.Errorf("a target without %s passes", v)
		}
	}
	var f failure
	Run(&f, Config{Seed: 1, Ops: 2000, Exact: true}, New(Root(), nil, 0, 0))
	if f.failed {
		t.Error("the model differs from itself")
	}
}
