package history

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
)

// Outcome is what a caller knows of a change.
type Outcome int

// The outcomes.
const (
	Unknown Outcome = iota // no answer, or one that says so
	Applied
	Refused // the answer says that nothing was applied
)

func (o Outcome) String() string { return [...]string{"unknown", "applied", "refused"}[o] }

// Change is one change that was asked for. Times are nanoseconds of one clock that does not go back.
type Change struct {
	Token   string
	Call    int64
	Return  int64 // of the answer that Outcome is from
	Outcome Outcome
	Version int64 // that it led to; 0: not told
	Put     bool  // a file in the set instead of a change of the log
	By      string
	Said    string // the answer, when it was a refusal
}

// View is one look at the whole state.
type View struct {
	Shown   string // by Show
	Call    int64
	Return  int64
	Stale   int64 // the view may be that old
	Version int64 // that it is of; 0: not told
	By      string
	// Own is the token of the change whose script printed this before it changed anything: the view is the state right
	// before it.
	Own string
}

// History is what is known of one sandbox. It is safe for concurrent use.
type History struct {
	Sandbox string

	mu      sync.Mutex
	changes []*Change
	views   []View
}

// AddChange and AddView add to it.
func (h *History) AddChange(c *Change) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.changes = append(h.changes, c)
}

func (h *History) AddView(v View) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.views = append(h.views, v)
}

// Len is the number of changes and views.
func (h *History) Len() (changes, views int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.changes), len(h.views)
}

// maxTold bounds the violations told of one sandbox: one fault often shows in many places.
const maxTold = 12

// Check returns what cannot have happened. last is a view of the state that was asked for after everything else had
// been answered; calls without an answer may still take effect after it.
func (h *History) Check(last View) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := &checker{h: h, last: last}
	c.run()
	if n := len(c.found); n > maxTold {
		c.found = append(c.found[:maxTold], fmt.Sprintf("… and %d more", n-maxTold))
	}
	return c.found
}

type checker struct {
	h      *History
	last   View
	found  []string
	log    []string
	states []string       // by the length of the prefix
	at     map[string]int // where a token is in the log
	by     map[string]*Change
}

func (c *checker) tell(format string, args ...any) {
	c.found = append(c.found, c.h.Sandbox+": "+fmt.Sprintf(format, args...))
}

func (c *checker) run() {
	state, _, ok := Split(c.last.Shown)
	if !ok {
		c.tell("the last view is not whole: %q", c.last.Shown)
		return
	}
	c.log = Tokens(state)
	c.at, c.by = make(map[string]int, len(c.log)), make(map[string]*Change, len(c.h.changes))
	s := NewState()
	c.states = append(c.states, s.String())
	for i, token := range c.log {
		if j, twice := c.at[token]; twice {
			c.tell("%s was applied twice, as change %d and %d", token, j, i)
		}
		c.at[token] = i
		s.Apply(token)
		c.states = append(c.states, s.String())
	}
	for _, ch := range c.h.changes {
		c.by[ch.Token] = ch
	}
	c.changes()
	c.order()
	c.views()
	c.puts()
}

// changes compares what was said of each change with whether it is there.
func (c *checker) changes() {
	for _, ch := range c.h.changes {
		if ch.Put {
			continue
		}
		_, there := c.at[ch.Token]
		switch {
		case ch.Outcome == Applied && !there:
			c.tell("%s was acknowledged (by %s, version %d) and is lost", ch.Token, ch.By, ch.Version)
		case ch.Outcome == Refused && there:
			c.tell("%s was said not to be applied (by %s: %s) and is there", ch.Token, ch.By, ch.Said)
		}
	}
	for _, token := range c.log {
		if ch := c.by[token]; ch == nil || ch.Put {
			c.tell("%s is there and nobody wrote it", token)
		}
	}
}

// order looks at each two changes whose order is known from the answers.
func (c *checker) order() {
	// From the end: the earliest answer among those that come later in the log.
	earliest, of := int64(math.MaxInt64), ""
	for i := len(c.log) - 1; i >= 0; i-- {
		ch := c.by[c.log[i]]
		if ch == nil {
			continue
		}
		if ch.Call > earliest {
			c.tell("%s comes before %s, which was acknowledged before it was called", ch.Token, of)
		}
		if ch.Outcome == Applied && ch.Return < earliest {
			earliest, of = ch.Return, ch.Token
		}
	}
	version, of := int64(0), ""
	for _, token := range c.log {
		ch := c.by[token]
		if ch == nil || ch.Outcome != Applied || ch.Version == 0 {
			continue
		}
		if ch.Version <= version {
			c.tell("%s led to version %d and comes after %s, which led to version %d", token, ch.Version, of, version)
		}
		version, of = ch.Version, token
	}
}

func (c *checker) views() {
	type seen struct {
		n int
		v *View
	}
	all := make([]seen, 0, len(c.h.views)+1)
	for i := range c.h.views {
		v := &c.h.views[i]
		if n, ok := c.view(v); ok {
			all = append(all, seen{n, v})
		}
	}
	if n, ok := c.view(&c.last); ok {
		all = append(all, seen{n, &c.last})
	}
	// A later view is not an older one. One that may be stale is not held to that.
	slices.SortStableFunc(all, func(a, b seen) int { return int(min(1, max(-1, a.v.Return-b.v.Return))) })
	byCall := slices.Clone(all)
	slices.SortStableFunc(byCall, func(a, b seen) int { return int(min(1, max(-1, a.v.Call-b.v.Call))) })
	newest, next := seen{}, 0
	for _, s := range byCall {
		for ; next < len(all) && all[next].v.Return < s.v.Call; next++ {
			if all[next].v.Own == "" && all[next].n > newest.n {
				newest = all[next]
			}
		}
		if s.v.Stale == 0 && s.n < newest.n {
			c.tell("a view by %s shows %d changes, an earlier one by %s %d", s.v.By, s.n, newest.v.By, newest.n)
		}
	}
	// A version is one state, and a later one is not an older state.
	slices.SortStableFunc(all, func(a, b seen) int { return int(min(1, max(-1, a.v.Version-b.v.Version))) })
	for i := 1; i < len(all); i++ {
		a, b := all[i-1], all[i]
		if a.v.Version != 0 && a.n > b.n {
			c.tell("version %d (by %s) has %d changes, version %d (by %s) %d", a.v.Version, a.v.By, a.n, b.v.Version,
				b.v.By, b.n)
		}
	}
}

// view checks one view and returns how many changes it shows.
func (c *checker) view(v *View) (n int, ok bool) {
	state, _, whole := Split(v.Shown)
	n = len(Tokens(state))
	if !whole || n >= len(c.states) {
		c.tell("a view by %s shows what never was (%d changes of %d): %s", v.By, n, len(c.log),
			differ(state, c.states[len(c.states)-1]))
		return n, false
	}
	if state != c.states[n] {
		c.tell("a view by %s at version %d is no state there ever was: %s", v.By, v.Version, differ(state, c.states[n]))
		return n, false
	}
	for i, token := range c.log {
		ch := c.by[token]
		if ch == nil {
			continue
		}
		if i >= n && ch.Outcome == Applied && ch.Return < v.Call-v.Stale {
			c.tell("a view by %s at version %d lacks %s (version %d), acknowledged %.1f ms before it was asked for", v.By,
				v.Version, token, ch.Version, float64(v.Call-ch.Return)/1e6)
			break
		}
		if i < n && ch.Call > v.Return {
			c.tell("a view by %s shows %s before it was called", v.By, token)
		}
		if i < n && v.Version != 0 && ch.Outcome == Applied && ch.Version > v.Version ||
			i >= n && v.Version != 0 && ch.Outcome == Applied && ch.Version != 0 && ch.Version <= v.Version {
			c.tell("a view by %s at version %d with %d changes: %s, change %d, led to version %d", v.By, v.Version, n, token, i,
				ch.Version)
		}
	}
	if v.Own != "" {
		if at, there := c.at[v.Own]; there && at != n {
			c.tell("the script of %s saw %d changes and committed after %d", v.Own, n, at)
		}
	}
	return n, true
}

// puts checks the files that are a set.
func (c *checker) puts() {
	views := append(slices.Clone(c.h.views), c.last)
	slices.SortStableFunc(views, func(a, b View) int { return int(min(1, max(-1, a.Call-b.Call))) })
	for _, v := range views {
		_, names, ok := Split(v.Shown)
		if !ok {
			continue
		}
		there := make(map[string]int, len(names))
		for _, name := range names {
			token, _, _ := strings.Cut(name, ".")
			there[token]++
			if c.by[token] == nil {
				c.tell("file %s is there and nobody wrote it", name)
			}
		}
		for _, ch := range c.h.changes {
			n := there[ch.Token]
			switch {
			case !ch.Put:
			case n == 1:
				c.tell("a view by %s shows half of %s", v.By, ch.Token)
			case n == 2 && ch.Outcome == Refused:
				c.tell("%s was said not to be applied (by %s: %s) and is there", ch.Token, ch.By, ch.Said)
			case n == 2 && ch.Call > v.Return:
				c.tell("a view by %s shows %s before it was called", v.By, ch.Token)
			case n == 0 && ch.Outcome == Applied && ch.Return < v.Call-v.Stale:
				c.tell("a view by %s at version %d lacks %s, acknowledged %.1f ms before it was asked for", v.By, v.Version,
					ch.Token, float64(v.Call-ch.Return)/1e6)
			}
		}
	}
}

// differ says where two texts begin to differ.
func differ(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range g {
		if i >= len(w) || g[i] != w[i] {
			other := "(nothing)"
			if i < len(w) {
				other = fmt.Sprintf("%q", w[i])
			}
			return fmt.Sprintf("line %d is %q, not %s", i+1, g[i], other)
		}
	}
	return fmt.Sprintf("%d lines, not %d", len(g), len(w))
}
