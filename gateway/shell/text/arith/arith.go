package arith

import (
	"fmt"
	"strings"
)

// Error is a syntax or evaluation error. Expr is the whole expression, Token the rest of it from where
// the trouble is.
type Error struct {
	Expr, Msg, Token string
}

func (e *Error) Error() string {
	if e.Token == "" && e.Msg != operandExpected {
		return e.Expr + ": " + e.Msg
	}
	return fmt.Sprintf("%s: %s (error token is %q)", e.Expr, e.Msg, rawQuoted(e.Token))
}

type rawQuoted string

// Format prints the token between plain double quotes, as bash does, without Go's escapes.
func (r rawQuoted) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(`"` + string(r) + `"`)) }

const tooDeep = "expression recursion level exceeded"

const operandExpected = "syntax error: operand expected"

// Sub is an array subscript: its text (the key of an associative array) and, when it parses, its expression.
type Sub struct {
	Text string
	Expr *Expr
	Err  error // why Expr is nil
}

// Env gives an expression its variables. Implementations may panic to end the evaluation.
type Env interface {
	// Value is the text of a variable or element, "" when unset.
	Value(name string, sub *Sub) string
	// Assign stores a result.
	Assign(name string, sub *Sub, v int64)
	// Parse parses the value of a variable that is not a plain number (it may cache).
	Parse(text string) (*Expr, error)
	// Step counts one unit of work.
	Step()
	// Nest counts the nesting of the expressions that are being evaluated, n levels more or, when it is negative, fewer.
	// It reports whether that is within [MaxNest]: an expression evaluates others, through the values of variables and
	// through subscripts.
	Nest(n int) bool
}

// MaxNest bounds the nesting of all expressions under evaluation together: each level takes some of the stack.
const MaxNest = 64 << 10

// Expr is a parsed expression, immutable.
type Expr struct {
	text string
	root node
	deep int // how deep root is nested
}

// maxDepth bounds both the nesting of an expression and the recursion of variables into expressions.
const maxDepth = 1024

// Eval computes the expression. The error is an *Error.
func (e *Expr) Eval(env Env) (v int64, err error) { return e.eval(env, 0) }

func (e *Expr) eval(env Env, depth int) (v int64, err error) {
	if e.root == nil {
		return 0, nil
	}
	if n, ok := e.root.(num); ok {
		return int64(n), nil
	}
	defer func() {
		if r := recover(); r != nil {
			x, ok := r.(*Error)
			if !ok {
				panic(r)
			}
			err = x
		}
	}()
	defer env.Nest(-e.deep)
	if !env.Nest(e.deep) {
		return 0, &Error{Expr: e.text, Msg: tooDeep, Token: e.text}
	}
	c := run{env: env, text: e.text, depth: depth}
	return e.root.eval(&c), nil
}

type run struct {
	env   Env
	text  string
	depth int
}

func (c *run) fail(msg string, at int) {
	panic(&Error{Expr: strings.TrimLeft(c.text, " \t"), Msg: msg, Token: c.text[at:]})
}

type node interface{ eval(*run) int64 }

type num int64

func (n num) eval(*run) int64 { return int64(n) }

// unfinished is an expression that something follows: bash evaluates while it parses, so it has been evaluated by then.
type unfinished struct {
	x   node
	err *Error
}

func (u *unfinished) eval(c *run) int64 {
	u.x.eval(c)
	panic(u.err)
}

type ref struct {
	name string
	sub  *Sub
	at   int
}

func (r *ref) eval(c *run) int64 {
	s := c.env.Value(r.name, r.sub)
	if v, ok := plain(s); ok {
		return v
	}
	c.env.Step()
	if c.depth >= maxDepth-1 {
		panic(&Error{Expr: c.text, Msg: tooDeep, Token: c.text[r.at:]})
	}
	e, err := c.env.Parse(s)
	if err != nil {
		panic(err)
	}
	v, err := e.eval(c.env, c.depth+1)
	if err != nil {
		panic(err)
	}
	return v
}

// plain reads a small decimal number without leading zeros.
func plain(s string) (int64, bool) {
	neg := false
	if s != "" && s[0] == '-' {
		neg, s = true, s[1:]
	}
	if s == "" {
		return 0, !neg
	}
	if len(s) > 18 || s[0] == '0' && len(s) > 1 {
		return 0, false
	}
	var v int64
	for i := 0; i < len(s); i++ {
		d := s[i] - '0'
		if d > 9 {
			return 0, false
		}
		v = v*10 + int64(d)
	}
	if neg {
		v = -v
	}
	return v, true
}

type assign struct {
	to *ref
	op string // "" for =
	x  node
	at int
}

func (a *assign) eval(c *run) int64 {
	var v int64
	if a.op == "" {
		v = a.x.eval(c)
	} else {
		old := a.to.eval(c)
		v = binop(c, a.op, old, a.x.eval(c), a.at)
	}
	c.env.Assign(a.to.name, a.to.sub, v)
	return v
}

type incdec struct {
	to   *ref
	by   int64
	post bool
}

func (n *incdec) eval(c *run) int64 {
	v := n.to.eval(c)
	c.env.Assign(n.to.name, n.to.sub, v+n.by)
	if n.post {
		return v
	}
	return v + n.by
}

type unary struct {
	op byte
	x  node
}

func (u *unary) eval(c *run) int64 {
	v := u.x.eval(c)
	switch u.op {
	case '-':
		return -v
	case '~':
		return ^v
	case '!':
		return truth(v == 0)
	}
	return v
}

// chain is an operand and what is done to it from the left to the right: a||b||c, but also a*b+c.
type chain struct {
	x     node
	terms []term
}

// term is an operator and its right operand.
type term struct {
	y  node
	at int32 // offset of y
	op operator
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func (b *chain) eval(c *run) int64 {
	v := b.x.eval(c)
	for i := range b.terms {
		t := &b.terms[i]
		if i%stepTerms == stepTerms-1 {
			c.env.Step()
		}
		switch op := ops[t.op]; op {
		case "&&":
			v = truth(v != 0 && t.y.eval(c) != 0)
		case "||":
			v = truth(v != 0 || t.y.eval(c) != 0)
		default:
			v = binop(c, op, v, t.y.eval(c), int(t.at))
		}
	}
	return v
}

// stepTerms is how many terms take about as long as a step of a script.
const stepTerms = 16

func binop(c *run, op string, x, y int64, at int) int64 {
	switch op {
	case "+":
		return x + y
	case "-":
		return x - y
	case "*":
		return x * y
	case "/", "%":
		if y == 0 {
			c.fail("division by 0", at)
		}
		if y == -1 { // the machine traps on MinInt64 / -1
			if op == "/" {
				return -x
			}
			return 0
		}
		if op == "/" {
			return x / y
		}
		return x % y
	case "**":
		if y < 0 {
			c.fail("exponent less than 0", at)
		}
		v := int64(1)
		for ; y > 0; y >>= 1 {
			if y&1 != 0 {
				v *= x
			}
			x *= x
		}
		return v
	case "<<":
		return x << (uint64(y) & 63)
	case ">>":
		return x >> (uint64(y) & 63)
	case "<":
		return truth(x < y)
	case ">":
		return truth(x > y)
	case "<=":
		return truth(x <= y)
	case ">=":
		return truth(x >= y)
	case "==":
		return truth(x == y)
	case "!=":
		return truth(x != y)
	case "&":
		return x & y
	case "^":
		return x ^ y
	case "|":
		return x | y
	}
	return y // ","
}

type ternary struct{ cond, x, y node }

func (t *ternary) eval(c *run) int64 {
	if t.cond.eval(c) != 0 {
		return t.x.eval(c)
	}
	return t.y.eval(c)
}
