package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/pgbox/pgbox/bench/cluster/history"
)

// worker is one client.
type worker struct {
	*Load
	name string
	rng  *rand.Rand
}

// steps is what a client does, with how often it does it.
var steps = []struct {
	weight int
	do     func(*worker, context.Context, *sandbox)
}{
	{30, (*worker).change},
	{12, (*worker).keyed},
	{6, (*worker).impatient},
	{10, (*worker).sql},
	{5, (*worker).batch},
	{5, (*worker).files},
	{22, (*worker).look},
	{5, (*worker).lookTwice},
	{6, (*worker).sqlLook},
	{3, (*worker).fork},
}

func (w *worker) step(ctx context.Context) {
	s := w.borrow(w.rng)
	defer s.users.Done()
	total := 0
	for _, st := range steps {
		total += st.weight
	}
	n := w.rng.IntN(total)
	for _, st := range steps {
		if n -= st.weight; n < 0 {
			// What was begun is brought to its end.
			st.do(w, context.WithoutCancel(ctx), s)
			return
		}
	}
}

// newToken returns a token of a random kind.
func (w *worker) newToken(kinds string) string {
	return fmt.Sprintf("%c%d", kinds[w.rng.IntN(len(kinds))], w.token.Add(1))
}

// request sends one request to a replica.
func (w *worker) request(
	ctx context.Context, r Replica, timeout time.Duration, path, key string, body any,
) (Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return r.Do(ctx, http.MethodPost, path, key, body)
}

// outcome is what an answer says.
func (w *worker) outcome(what string, r Replica, a *Reply, err error) history.Outcome {
	o := history.Unknown
	switch {
	case err != nil:
		w.count(what, "no answer")
		return o
	case a.ok():
		o = history.Applied
	case a.Applied == "no":
		o = history.Refused
	case a.Applied == "yes":
		o = history.Applied
	}
	w.count(what, o.String())
	if a.ok() {
		w.failed(what, r, a.Version, a.ExitCode, a.Stderr)
		for i := range a.Results {
			if p := &a.Results[i]; p.Error == "" {
				w.failed(what, r, p.Version, p.ExitCode, p.Stderr)
			}
		}
	}
	if !a.ok() {
		w.count("  "+a.Code, "applied "+a.Applied)
		// A fault of the installation is not a fault of the request; a gateway that was frozen finds its scripts' time used
		// up.
		if a.Status != http.StatusServiceUnavailable && a.Code != "EXEC_TIMEOUT" &&
			(a.Status != http.StatusConflict || a.Code != "ESTALE") {
			w.tell("%s: %s of %s is answered %s", w.name, what, r.Name, a)
		}
	}
	return o
}

// failed tells of a script that did not do what it does on a tree that is whole.
func (w *worker) failed(what string, r Replica, version int64, status int, stderr string) {
	if status != 0 || stderr != "" {
		w.tell("%s: the script of %s at %s (version %d) failed: status %d, %s", w.name, what, r.Name, version, status, stderr)
	}
}

func (w *worker) execBody(token string) map[string]any {
	return map[string]any{"script": history.Show + history.Script(token), "timeoutMs": 20000}
}

// executed notes the answer to the script of a token.
func (w *worker) executed(s *sandbox, ch *history.Change, shown string, version int64) {
	ch.Version = version
	s.history.AddView(history.View{Shown: shown, Call: ch.Call, Return: ch.Return, By: ch.By, Own: ch.Token})
}

// change runs a script that changes something.
func (w *worker) change(ctx context.Context, s *sandbox) { w.once(ctx, s, "exec", requestTimeout) }

// impatient is a client that hangs up in the middle.
func (w *worker) impatient(ctx context.Context, s *sandbox) {
	w.once(ctx, s, "exec, hung up", time.Duration(1+w.rng.IntN(30))*time.Millisecond)
}

func (w *worker) once(ctx context.Context, s *sandbox, what string, timeout time.Duration) {
	r := w.replica(w.rng)
	ch := &history.Change{Token: w.newToken(history.Kinds), Call: w.now(), By: w.name + " at " + r.Name}
	a, err := w.request(ctx, r, timeout, "/v1/sandboxes/"+s.id+"/exec-sync", "", w.execBody(ch.Token))
	ch.Return = w.now()
	ch.Outcome, ch.Said = w.outcome(what, r, &a, err), a.String()
	if err == nil && a.ok() {
		w.executed(s, ch, a.Stdout, a.Version)
	}
	s.history.AddChange(ch)
	w.replace(ctx, w.rng, s)
}

// keyed sends a request again, with the same key and anywhere, until it is answered.
func (w *worker) keyed(ctx context.Context, s *sandbox) {
	ch := &history.Change{Token: w.newToken(history.Kinds), Call: w.now()}
	key, body := "key of "+ch.Token, w.execBody(ch.Token)
	refused := true
	// Sometimes it is sent twice at once, or by one who hangs up first.
	if w.rng.IntN(3) == 0 {
		over := make(chan struct{})
		defer func() { <-over }()
		r, hurry := w.replica(w.rng), time.Duration(1+w.rng.IntN(50))*time.Millisecond
		refused = false
		go func() {
			defer close(over)
			_, _ = w.request(ctx, r, hurry, "/v1/sandboxes/"+s.id+"/exec-sync", key, body)
		}()
	}
	for deadline := time.Now().Add(patience); ; {
		r := w.replica(w.rng)
		a, err := w.request(ctx, r, requestTimeout, "/v1/sandboxes/"+s.id+"/exec-sync", key, body)
		ch.Return, ch.By = w.now(), w.name+" at "+r.Name
		ch.Outcome, ch.Said = w.outcome("exec with a key", r, &a, err), a.String()
		if ch.Outcome == history.Applied {
			w.executed(s, ch, a.Stdout, a.Version)
			break
		}
		refused = refused && ch.Outcome == history.Refused
		if time.Now().After(deadline) {
			w.tell("%s: %s was not settled in %v: %v, %v", w.name, ch.Token, patience, a, err)
			break
		}
		time.Sleep(time.Duration(w.rng.IntN(200)) * time.Millisecond)
	}
	if ch.Outcome == history.Refused && !refused {
		ch.Outcome = history.Unknown
	}
	s.history.AddChange(ch)
	w.replace(ctx, w.rng, s)
}

// batch sends three scripts at once, with a key; each of them is a change of its own.
func (w *worker) batch(ctx context.Context, s *sandbox) {
	r := w.replica(w.rng)
	changes := make([]*history.Change, 3)
	scripts := make([]map[string]any, len(changes))
	for i := range changes {
		token := w.newToken(history.Kinds)
		changes[i] = &history.Change{Token: token, Call: w.now(), By: w.name + ", batch at " + r.Name}
		scripts[i] = map[string]any{"id": token, "script": history.Show + history.Script(token)}
	}
	body := map[string]any{"scripts": scripts, "timeoutMs": 20000}
	a, err := w.request(ctx, r, requestTimeout, "/v1/sandboxes/"+s.id+"/exec-sync-batch", "key of batch "+changes[0].Token,
		body)
	now, o := w.now(), w.outcome("batch", r, &a, err)
	for i, ch := range changes {
		ch.Return, ch.Outcome, ch.Said = now, o, a.String()
		if o == history.Applied && i < len(a.Results) {
			if p := &a.Results[i]; p.Error != "" {
				// The short error does not say its outcome.
				ch.Outcome = history.Unknown
			} else {
				w.executed(s, ch, p.Stdout, p.Version)
			}
		}
		s.history.AddChange(ch)
	}
	w.replace(ctx, w.rng, s)
}

// files writes two files at once, without a script.
func (w *worker) files(ctx context.Context, s *sandbox) {
	r := w.replica(w.rng)
	ch := &history.Change{Token: w.newToken("p"), Call: w.now(), Put: true, By: w.name + " at " + r.Name}
	a, err := w.request(ctx, r, requestTimeout, "/v1/sandboxes/"+s.id+"/writeFiles", "",
		map[string]any{"files": map[string]string{home + "put/" + ch.Token + ".1": "x",
			home + "put/" + ch.Token + ".2": "x"}})
	ch.Return = w.now()
	ch.Outcome, ch.Said = w.outcome("writeFiles", r, &a, err), a.String()
	s.history.AddChange(ch)
}

// sql makes a change in SQL.
func (w *worker) sql(ctx context.Context, s *sandbox) {
	ch := &history.Change{Token: w.newToken(history.Kinds), Call: w.now(), By: w.name + " in SQL"}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var err error
	ch.Outcome, err = sqlChange(ctx, w.cfg.SQL, s.id, ch.Token)
	ch.Return = w.now()
	w.count("SQL", ch.Outcome.String())
	if err != nil {
		ch.Said = err.Error()
		time.Sleep(50 * time.Millisecond)
	}
	s.history.AddChange(ch)
	w.replace(ctx, w.rng, s)
}

// look runs a script that only reads, sometimes one that may see what is a little old.
func (w *worker) look(ctx context.Context, s *sandbox) {
	r := w.replica(w.rng)
	body := map[string]any{"script": history.Show, "readOnly": true, "timeoutMs": 20000}
	v := history.View{By: w.name + ", reading at " + r.Name, Call: w.now()}
	if w.rng.IntN(4) == 0 {
		v.Stale = int64(300 * time.Millisecond)
		body["maxStalenessMs"] = 300
		v.By += " at most 300 ms old"
	}
	a, err := w.request(ctx, r, requestTimeout, "/v1/sandboxes/"+s.id+"/exec-sync", "", body)
	v.Return = w.now()
	if w.outcome("read", r, &a, err); err == nil && a.ok() {
		v.Shown, v.Version = a.Stdout, a.Version
		s.history.AddView(v)
	}
}

// lookTwice reads twice in one request, on one snapshot.
func (w *worker) lookTwice(ctx context.Context, s *sandbox) {
	r := w.replica(w.rng)
	v := history.View{By: w.name + ", reading a batch at " + r.Name, Call: w.now()}
	body := map[string]any{"readOnly": true, "scripts": []map[string]any{{"id": "1", "script": history.Show},
		{"id": "2", "script": history.Show}}}
	a, err := w.request(ctx, r, requestTimeout, "/v1/sandboxes/"+s.id+"/exec-sync-batch", "", body)
	v.Return = w.now()
	if w.outcome("read batch", r, &a, err); err != nil || !a.ok() {
		return
	}
	if len(a.Results) != 2 || a.Results[0].Error != "" || a.Results[1].Error != "" {
		return
	}
	if a.Results[0].Stdout != a.Results[1].Stdout {
		w.tell("%s: two readers of one batch at %s saw different states", s.id, r.Name)
	}
	v.Shown, v.Version = a.Results[0].Stdout, a.Results[0].Version
	s.history.AddView(v)
}

// sqlLook reads in SQL.
func (w *worker) sqlLook(ctx context.Context, s *sandbox) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	v := history.View{By: w.name + ", reading in SQL", Call: w.now()}
	var err error
	v.Shown, v.Version, err = sqlShow(ctx, w.cfg.SQL, s.id)
	v.Return = w.now()
	if err != nil {
		w.count("SQL read", "failed")
		time.Sleep(50 * time.Millisecond)
		return
	}
	w.count("SQL read", "applied")
	s.history.AddView(v)
}

// fork makes a copy, looks at it, changes it, which must not show in the original, and has it restored to what it was.
func (w *worker) fork(ctx context.Context, s *sandbox) {
	name := w.newToken("f")
	v := history.View{By: w.name + ", by a fork", Call: w.now()}
	r := w.replica(w.rng)
	a, err := w.request(ctx, r, requestTimeout, "/v1/sandboxes/"+s.id+"/fork", "fork "+name, map[string]any{"name": name})
	v.Return = w.now()
	if w.outcome("fork", r, &a, err) != history.Applied || err != nil {
		return
	}
	path := "/v1/sandboxes/" + a.ID
	show := map[string]any{"script": history.Show, "readOnly": true}
	first, err := w.insist(ctx, w.rng, "", http.MethodPost, path+"/exec-sync", show)
	if err != nil {
		w.tell("%s: its fork cannot be read: %v", s.id, err)
		return
	}
	v.Shown = first.Stdout
	s.history.AddView(v)
	// A snapshot's route takes no key: one that was made unheard of is named a second time.
	var snapshot Reply
	for i := 0; snapshot.ID == ""; i++ {
		r := w.replica(w.rng)
		a, err := w.request(ctx, r, requestTimeout, path+"/snapshots", "", map[string]any{"name": fmt.Sprint("s", i)})
		if err == nil && a.ok() {
			snapshot = a
		} else if i > 50 {
			w.tell("%s: no snapshot: %v, %v", s.id, a, err)
			return
		} else {
			time.Sleep(100 * time.Millisecond)
		}
	}
	for i, do := range []struct {
		path string
		body map[string]any
	}{
		{"/exec-sync", map[string]any{"script": history.Script("a0") + "rm -r m a b; echo gone > big"}},
		{"/restore", map[string]any{"snapshot": snapshot.ID}},
	} {
		key := ""
		if i == 0 {
			key = "undone " + name
		}
		if _, err := w.insist(ctx, w.rng, key, http.MethodPost, path+do.path, do.body); err != nil {
			w.tell("%s: %s of its fork: %v", s.id, do.path, err)
			return
		}
	}
	again, err := w.insist(ctx, w.rng, "", http.MethodPost, path+"/exec-sync", show)
	if err != nil {
		w.tell("%s: its restored fork cannot be read: %v", s.id, err)
		return
	}
	if again.Stdout != first.Stdout {
		w.tell("%s: its fork %s is not what it was after a restore", s.id, a.ID)
	}
	// Nobody needs it any more; one that stays is not a fault.
	dctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	_, _ = w.replica(w.rng).Do(dctx, http.MethodDelete, path, "", struct{}{})
}
