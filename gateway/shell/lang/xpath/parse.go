package xpath

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Errors of expressions, in libxml2's words.
var (
	ErrSyntax    = errors.New("Invalid expression")          //nolint:staticcheck // libxml2's words
	ErrPrefix    = errors.New("Undefined namespace prefix")  //nolint:staticcheck // libxml2's words
	ErrFunction  = errors.New("Unregistered function")       //nolint:staticcheck // libxml2's words
	ErrVariable  = errors.New("Undefined variable")          //nolint:staticcheck // libxml2's words
	ErrType      = errors.New("Invalid type")                //nolint:staticcheck // libxml2's words
	ErrArguments = errors.New("Invalid number of arguments") //nolint:staticcheck // libxml2's words
)

// maxNesting bounds the nesting of an expression: reading and evaluating it recurse.
const maxNesting = 200

type token struct {
	kind byte // n name, d number, s string, o operator, v variable, 0 end
	text string
}

type axis uint8

const (
	axisChild axis = iota
	axisDescendant
	axisParent
	axisAncestor
	axisFollowingSibling
	axisPrecedingSibling
	axisFollowing
	axisPreceding
	axisAttribute
	axisNamespace
	axisSelf
	axisDescendantOrSelf
	axisAncestorOrSelf
)

var axes = map[string]axis{
	"child": axisChild, "descendant": axisDescendant, "parent": axisParent, "ancestor": axisAncestor,
	"following-sibling": axisFollowingSibling, "preceding-sibling": axisPrecedingSibling, "following": axisFollowing,
	"preceding": axisPreceding, "attribute": axisAttribute, "namespace": axisNamespace, "self": axisSelf,
	"descendant-or-self": axisDescendantOrSelf, "ancestor-or-self": axisAncestorOrSelf,
}

func (a axis) reverse() bool {
	return a == axisParent || a == axisAncestor || a == axisPrecedingSibling || a == axisPreceding ||
		a == axisAncestorOrSelf
}

// test is what a node has to be: of a kind, and with a name.
type test struct {
	kind   string // "" for names; else node, text, comment, processing-instruction
	name   string // "*" for all
	prefix string
}

type step struct {
	axis       axis
	test       test
	predicates []expr
}

type (
	literal  struct{ v Value }
	variable struct{ name string }
	call     struct {
		name string
		args []expr
	}
	binary struct {
		op   string
		l, r expr
	}
	negation struct{ x expr }
	// path goes from the root, from what from is, or from the context.
	path struct {
		from       expr
		root       bool
		predicates []expr // of from
		steps      []step
	}
)

// Expr is an expression that was read.
type Expr struct{ x expr }

type reader struct {
	tokens []token
	i      int
	depth  int
}

// Compile reads an expression.
func Compile(src string) (_ *Expr, err error) {
	tokens, err := scan(src)
	if err != nil {
		return nil, err
	}
	r := &reader{tokens: tokens}
	defer func() {
		if e, ok := recover().(error); ok {
			if !errors.Is(e, ErrSyntax) {
				panic(e)
			}
			err = e
		}
	}()
	x := r.or()
	if r.peek().kind != 0 {
		return nil, ErrSyntax
	}
	return &Expr{x}, nil
}

func nameRune(c rune, first bool) bool {
	return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0xc0 && c != utf8.RuneError ||
		!first && (c == '-' || c == '.' || c >= '0' && c <= '9' || c == 0xb7)
}

func scan(src string) (out []token, err error) {
	for i := 0; i < len(src); {
		c := src[i]
		switch {
		case strings.IndexByte(" \t\r\n", c) >= 0:
			i++
		case c == '"' || c == '\'':
			end := strings.IndexByte(src[i+1:], c)
			if end < 0 {
				return nil, ErrSyntax
			}
			out = append(out, token{'s', src[i+1 : i+1+end]})
			i += end + 2
		case c >= '0' && c <= '9' || c == '.' && i+1 < len(src) && src[i+1] >= '0' && src[i+1] <= '9':
			from := i
			for i < len(src) && (src[i] >= '0' && src[i] <= '9' || src[i] == '.' && !strings.Contains(src[from:i], ".")) {
				i++
			}
			if e := i + 1; i < len(src) && src[i]|0x20 == 'e' {
				if e < len(src) && (src[e] == '+' || src[e] == '-') {
					e++
				}
				for ; e < len(src) && src[e] >= '0' && src[e] <= '9'; e++ {
					i = e + 1
				}
			}
			out = append(out, token{'d', src[from:i]})
		case strings.HasPrefix(src[i:], "//") || strings.HasPrefix(src[i:], "..") || strings.HasPrefix(src[i:], "::") ||
			strings.HasPrefix(src[i:], "!=") || strings.HasPrefix(src[i:], "<=") || strings.HasPrefix(src[i:], ">="):
			out = append(out, token{'o', src[i : i+2]})
			i += 2
		case strings.IndexByte("()[].@,/|+-=<>*", c) >= 0:
			out = append(out, token{'o', src[i : i+1]})
			i++
		default:
			dollar := c == '$'
			if dollar {
				i++
			}
			from := i
			for i < len(src) {
				r, n := utf8.DecodeRuneInString(src[i:])
				colon := r == ':' && i > from && !strings.Contains(src[from:i], ":") && !strings.HasPrefix(src[i:], "::")
				if !nameRune(r, i == from || src[i-1] == ':') && !colon {
					if r == '*' && i > from && src[i-1] == ':' {
						i++
					}
					break
				}
				i += n
			}
			if i == from || src[i-1] == ':' {
				return nil, ErrSyntax
			}
			kind := byte('n')
			if dollar {
				kind = 'v'
			}
			out = append(out, token{kind, src[from:i]})
		}
		// A name or a star after an operand is an operator.
		if k := len(out) - 1; k > 0 && (out[k].kind == 'n' || out[k].text == "*" && out[k].kind == 'o') {
			if before := out[k-1]; before.kind != 'o' && before.kind != 'x' ||
				before.kind == 'o' && (before.text == ")" || before.text == "]" || before.text == "." || before.text == "..") {
				switch out[k].text {
				case "and", "or", "div", "mod", "*":
					out[k].kind = 'x'
				}
			}
		}
		if k := len(out) - 1; k >= 0 && out[k].kind == 'o' && out[k].text == "*" {
			out[k] = token{'n', "*"}
		}
		if len(out) > 20000 {
			return nil, ErrSyntax
		}
	}
	return append(out, token{}), nil
}

func (r *reader) peek() token { return r.tokens[r.i] }

func (r *reader) is(text string) bool {
	t := r.peek()
	return (t.kind == 'o' || t.kind == 'x') && t.text == text
}

func (r *reader) accept(texts ...string) (string, bool) {
	for _, t := range texts {
		if r.is(t) {
			r.i++
			return t, true
		}
	}
	return "", false
}

func (r *reader) expect(text string) {
	if _, ok := r.accept(text); !ok {
		panic(ErrSyntax)
	}
}

// left reads operands between operators that group to the left.
func (r *reader) left(next func() expr, ops ...string) expr {
	x := next()
	for n := 0; ; n++ {
		op, ok := r.accept(ops...)
		if !ok {
			return x
		}
		if n > maxNesting {
			panic(ErrSyntax)
		}
		x = binary{op, x, next()}
	}
}

func (r *reader) or() expr {
	if r.depth++; r.depth > maxNesting {
		panic(ErrSyntax)
	}
	defer func() { r.depth-- }()
	return r.left(r.and, "or")
}
func (r *reader) and() expr      { return r.left(r.equality, "and") }
func (r *reader) equality() expr { return r.left(r.relation, "=", "!=") }
func (r *reader) relation() expr { return r.left(r.sum, "<=", ">=", "<", ">") }
func (r *reader) sum() expr      { return r.left(r.product, "+", "-") }
func (r *reader) product() expr  { return r.left(r.unary, "*", "div", "mod") }

func (r *reader) unary() expr {
	n := 0
	for {
		if _, ok := r.accept("-"); !ok {
			break
		}
		n++
	}
	x := r.left(r.path, "|")
	switch {
	case n == 0:
		return x
	case n%2 == 0:
		return negation{negation{x}}
	}
	return negation{x}
}

var nodeTypes = map[string]bool{"node": true, "text": true, "comment": true, "processing-instruction": true}

func (r *reader) path() expr {
	t, next := r.peek(), token{}
	if t.kind != 0 {
		next = r.tokens[r.i+1]
	}
	p := path{}
	switch {
	case t.kind == 's' || t.kind == 'd' || t.kind == 'v' || r.is("(") ||
		t.kind == 'n' && next.kind == 'o' && next.text == "(" && !nodeTypes[t.text]:
		p.from = r.primary()
		for r.is("[") {
			p.predicates = append(p.predicates, r.predicate())
		}
		if !r.is("/") && !r.is("//") {
			if p.predicates == nil {
				return p.from
			}
			return p
		}
	case r.is("/") || r.is("//"):
		p.root = true
		if r.is("/") {
			r.i++
			if !r.startsStep() {
				return p
			}
			p.steps = append(p.steps, r.step())
		}
	default:
		p.steps = append(p.steps, r.step())
	}
	for {
		switch op, ok := r.accept("//", "/"); {
		case !ok:
			return p
		case op == "//":
			p.steps = append(p.steps, step{axis: axisDescendantOrSelf, test: test{kind: "node"}})
		}
		p.steps = append(p.steps, r.step())
		if len(p.steps) > 10*maxNesting {
			panic(ErrSyntax)
		}
	}
}

func (r *reader) startsStep() bool {
	return r.peek().kind == 'n' || r.is("@") || r.is(".") || r.is("..")
}

func (r *reader) predicate() expr {
	r.expect("[")
	x := r.or()
	r.expect("]")
	return x
}

func (r *reader) step() step {
	s := step{axis: axisChild}
	if _, ok := r.accept("."); ok {
		return step{axis: axisSelf, test: test{kind: "node"}}
	}
	if _, ok := r.accept(".."); ok {
		return step{axis: axisParent, test: test{kind: "node"}}
	}
	if _, ok := r.accept("@"); ok {
		s.axis = axisAttribute
	} else if t := r.peek(); t.kind == 'n' && r.tokens[r.i+1].text == "::" && r.tokens[r.i+1].kind == 'o' {
		a, ok := axes[t.text]
		if !ok {
			panic(ErrSyntax)
		}
		s.axis = a
		r.i += 2
	}
	t := r.peek()
	if t.kind != 'n' {
		panic(ErrSyntax)
	}
	r.i++
	if nodeTypes[t.text] && r.is("(") {
		r.i++
		s.test.kind = t.text
		if t.text == "processing-instruction" && r.peek().kind == 's' {
			s.test.name = r.peek().text
			r.i++
		}
		r.expect(")")
	} else {
		s.test.name = t.text
		if prefix, name, ok := strings.Cut(t.text, ":"); ok {
			s.test.prefix, s.test.name = prefix, name
		}
	}
	for r.is("[") {
		s.predicates = append(s.predicates, r.predicate())
	}
	return s
}

func (r *reader) primary() expr {
	t := r.peek()
	r.i++
	switch t.kind {
	case 's':
		return literal{t.text}
	case 'd':
		f, err := strconv.ParseFloat(t.text, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			panic(ErrSyntax)
		}
		return literal{f}
	case 'v':
		return variable{t.text}
	case 'n':
		c := call{name: t.text}
		r.expect("(")
		for !r.is(")") {
			if len(c.args) > 0 {
				r.expect(",")
			}
			c.args = append(c.args, r.or())
			if len(c.args) > 10*maxNesting {
				panic(ErrSyntax)
			}
		}
		r.i++
		return c
	}
	x := r.or()
	r.expect(")")
	return x
}
