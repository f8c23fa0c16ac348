package arith

import (
	"runtime/debug"
	"strings"
	"testing"
)

// texts is an Env of variables that are expressions.
type texts struct {
	m     map[string]string
	steps int
	nest  int
}

func (e *texts) Value(name string, sub *Sub) string {
	if sub != nil && sub.Expr != nil {
		_, _ = sub.Expr.Eval(e)
	}
	return e.m[name]
}
func (e *texts) Assign(string, *Sub, int64)       {}
func (e *texts) Parse(text string) (*Expr, error) { return Parse(text, e.Step) }
func (e *texts) Step()                            { e.steps++ }
func (e *texts) Nest(n int) bool                  { e.nest += n; return e.nest <= MaxNest }

// TestLargeAndDeep reads and evaluates expressions that are longer and deeper than any limit, on a small stack.
func TestLargeAndDeep(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(32 << 20))
	rep := strings.Repeat
	const n = 1 << 18
	deep := rep("-(", 400) + "a1" + rep(")", 400)
	for _, c := range []struct {
		name, expr string
		m          map[string]string
		want       int64
		fails      bool
	}{
		{"a||a", "a" + rep("||a", n), map[string]string{"a": "0"}, 0, false},
		{"1&&1", "1" + rep("&&1", n), nil, 1, false},
		{"1+1", "1" + rep("+1", n), nil, n + 1, false},
		{"1,1", "1" + rep(",1", n), nil, 1, false},
		{"every precedence", rep("1||0&&1|1^1&1==1<1<<1+2*", n/8) + "1", nil, 1, false},
		{"powers", "1" + rep("**1", n), nil, 0, true},
		{"parentheses", rep("(", n) + "1" + rep(")", n), nil, 0, true},
		{"signs", rep("-", n) + "1", nil, 0, true},
		{"conditions", rep("1?1:", n) + "1", nil, 0, true},
		{"conditions in conditions", rep("1?", n) + "1" + rep(":1", n), nil, 0, true},
		{"assignments", rep("a=", n) + "1", nil, 0, true},
		{"subscripts", rep("a[", n) + "1" + rep("]", n), nil, 0, false},
		{"deep variables in deep variables", "a1", map[string]string{"a1": deep}, 0, true},
		{"subscripts in variables", "b", map[string]string{"b": rep("-(", 400) + "c[b]" + rep(")", 400)}, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			env := &texts{m: c.m}
			x, err := Parse(c.expr, env.Step)
			var v int64
			if err == nil {
				v, err = x.Eval(env)
			}
			if (err != nil) != c.fails || v != c.want {
				t.Errorf("%d, %.200v", v, err)
			}
			if !c.fails && v != 0 && len(c.expr) >= n && env.steps < n/stepChars {
				t.Errorf("%d steps", env.steps)
			}
			if env.nest != 0 {
				t.Errorf("nesting %d is left", env.nest)
			}
		})
	}
}
