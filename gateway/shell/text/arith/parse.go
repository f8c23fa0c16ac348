package arith

import (
	"math"
	"slices"
	"strings"
)

// Parse reads an expression. The error is an *Error. A blank expression is 0. step, unless it is nil, is called all the
// time that it takes, about every microsecond; it may panic to end it.
func Parse(s string, step func()) (*Expr, error) {
	if len(s) > math.MaxInt32 {
		return nil, &Error{Expr: s, Msg: tooDeep, Token: s}
	}
	return (&parser{s: s, step: step}).parse()
}

func (p *parser) parse() (e *Expr, err error) {
	s := p.s
	defer func() {
		if r := recover(); r != nil {
			x, ok := r.(*Error)
			if !ok {
				panic(r)
			}
			err = x
		}
	}()
	p.next()
	if p.tok == "" {
		return &Expr{text: s}, nil
	}
	n := p.comma()
	if p.tok != "" {
		if p.tok == "=" || len(p.tok) > 1 && strings.HasSuffix(p.tok, "=") && p.tok != "==" && p.tok != "!=" &&
			p.tok != "<=" && p.tok != ">=" {
			p.fail("attempted assignment to non-variable", p.at)
		}
		err := &Error{Expr: strings.TrimLeft(s, " \t"), Msg: "syntax error in expression", Token: s[p.at:]}
		for p.tok == "a" { // bash looks at the token behind a name
			p.next()
		}
		return &Expr{text: s, root: &unfinished{n, err}, deep: p.deep}, nil
	}
	return &Expr{text: s, root: n, deep: p.deep}, nil
}

type parser struct {
	s     string
	i     int    // after the current token
	at    int    // where the current token begins
	prev  int    // where the token before it begins
	tok   string // "" at the end; "0" number, "a" name, else the operator
	num   int64
	ref   *ref
	depth int
	deep  int // the largest depth
	subs  int
	step  func()
	told  int // offset at the last step
}

// stepChars is how many characters take about as long to read as a step of a script.
const stepChars = 32

func (p *parser) fail(msg string, at int) {
	panic(&Error{Expr: strings.TrimLeft(p.s, " \t"), Msg: msg, Token: p.s[at:]})
}

// failNumber is fail for a malformed number: what follows it was not read yet and is not shown.
func (p *parser) failNumber(msg string, at int) {
	p.s = p.s[:p.i]
	p.fail(msg, at)
}

func (p *parser) enter() {
	if p.depth++; p.depth > maxDepth {
		p.fail(tooDeep, p.at)
	}
	p.deep = max(p.deep, p.depth)
}

func nameStart(c byte) bool { return c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z' }
func digit(c byte) bool     { return '0' <= c && c <= '9' }

var ops3 = []string{"<<=", ">>="}
var ops2 = []string{"**", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "++", "--", "+=", "-=", "*=", "/=", "%=",
	"&=", "|=", "^="}

func (p *parser) next() {
	for p.i < len(p.s) && strings.IndexByte(" \t\n\r", p.s[p.i]) >= 0 {
		p.i++
	}
	if p.i-p.told >= stepChars || p.i < p.told {
		if p.told = p.i; p.step != nil {
			p.step()
		}
	}
	p.prev, p.at = p.at, p.i
	if p.i >= len(p.s) {
		p.tok = ""
		return
	}
	c := p.s[p.i]
	switch {
	case digit(c):
		p.number()
		return
	case nameStart(c):
		j := p.i + 1
		for j < len(p.s) && (nameStart(p.s[j]) || digit(p.s[j])) {
			j++
		}
		p.ref = &ref{name: p.s[p.i:j], at: p.i}
		p.i = j
		p.tok = "a"
		if j < len(p.s) && p.s[j] == '[' {
			p.subscript()
		}
		return
	}
	rest := p.s[p.i:]
	if p.tok == ")" && (strings.HasPrefix(rest, "++") || strings.HasPrefix(rest, "--")) {
		// Two signs, where no name follows that could be counted.
		if next := strings.TrimLeft(rest[2:], " \t\n"); next == "" || !nameStart(next[0]) {
			p.tok, p.i = rest[:1], p.i+1
			return
		}
	}
	for _, o := range ops3 {
		if strings.HasPrefix(rest, o) {
			p.tok, p.i = o, p.i+3
			return
		}
	}
	for _, o := range ops2 {
		if strings.HasPrefix(rest, o) {
			p.tok, p.i = o, p.i+2
			return
		}
	}
	if strings.IndexByte("+-*/%<>=!&|^~?:,()", c) >= 0 {
		p.tok, p.i = p.s[p.i:p.i+1], p.i+1
		return
	}
	if p.prev == p.at || p.tok == "" {
		p.fail(operandExpected, p.at)
	}
	if p.tok == "a" || p.tok == "0" || p.tok == ")" {
		p.fail("syntax error: invalid arithmetic operator", p.at)
	}
	p.fail(operandExpected, p.at)
}

func (p *parser) subscript() {
	n := 0
	for j := p.i; j < len(p.s); j++ {
		switch p.s[j] {
		case '\\': // what follows came from an expansion
			j++
		case '[':
			n++
		case ']':
			if n--; n == 0 {
				if p.subs >= 64 {
					p.fail(tooDeep, p.at)
				}
				sub := &Sub{Text: p.s[p.i+1 : j]}
				inner := parser{s: sub.Text, subs: p.subs + 1, depth: p.depth, step: p.step}
				sub.Expr, sub.Err = inner.parse()
				p.ref.sub = sub
				p.i = j + 1
				return
			}
		}
	}
	p.fail("bad array subscript", p.at)
}

func (p *parser) number() {
	start := p.i
	for p.i < len(p.s) && (digit(p.s[p.i]) || nameStart(p.s[p.i]) || p.s[p.i] == '#' || p.s[p.i] == '@') {
		p.i++
	}
	t := p.s[start:p.i]
	p.tok = "0"
	base := uint64(10)
	digits := t
	if b, rest, ok := strings.Cut(t, "#"); ok {
		base = 0
		for _, c := range []byte(b) {
			if !digit(c) {
				p.failNumber("invalid number", start)
			}
			base = min(base*10+uint64(c-'0'), 65)
		}
		if base == 0 {
			p.failNumber("invalid number", start)
		}
		if base < 2 || base > 64 {
			p.failNumber("invalid arithmetic base", start)
		}
		if rest == "" {
			p.failNumber("invalid integer constant", start)
		}
		digits = rest
	} else if t[0] == '0' && len(t) > 1 {
		if t[1] == 'x' || t[1] == 'X' {
			base, digits = 16, t[2:]
		} else {
			base, digits = 8, t[1:]
		}
	}
	var v uint64
	for _, c := range []byte(digits) {
		var d uint64
		switch {
		case digit(c):
			d = uint64(c - '0')
		case 'a' <= c && c <= 'z':
			d = uint64(c-'a') + 10
		case 'A' <= c && c <= 'Z':
			if d = uint64(c-'A') + 36; base <= 36 {
				d -= 26
			}
		case c == '@':
			d = 62
		case c == '_':
			d = 63
		default:
			p.failNumber("invalid number", start)
		}
		if d >= base {
			p.failNumber("value too great for base", start)
		}
		v = v*base + d
	}
	p.num = int64(v)
}

func (p *parser) comma() node {
	n := p.assignment()
	var terms []term
	for p.tok == "," {
		p.next()
		at := p.at
		terms = append(terms, term{op: opNumber(","), y: p.assignment(), at: int32(at)})
	}
	return chained(n, terms)
}

func (p *parser) assignment() node {
	p.enter()
	defer func() { p.depth-- }()
	n := p.conditional()
	switch p.tok {
	case "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=":
		r, ok := n.(*ref)
		if !ok {
			p.fail("attempted assignment to non-variable", p.at)
		}
		op := p.tok[:len(p.tok)-1]
		p.next()
		at := p.at
		return &assign{to: r, op: op, x: p.assignment(), at: at}
	}
	return n
}

func (p *parser) conditional() node {
	c := p.level(0)
	if p.tok != "?" {
		return c
	}
	p.next()
	if p.tok == "" || p.tok == ":" {
		p.fail("expression expected", p.at)
	}
	x := p.comma()
	if p.tok != ":" {
		p.fail("`:' expected for conditional expression", p.prevIfEnd())
	}
	p.next()
	if p.tok == "" {
		p.fail("expression expected", p.at)
	}
	p.enter()
	y := p.conditional()
	p.depth--
	return &ternary{c, x, y}
}

// operator is an index of ops.
type operator uint8

var ops = [...]string{"||", "&&", "|", "^", "&", "==", "!=", "<", ">", "<=", ">=", "<<", ">>", "+", "-", "*", "/", "%",
	",", "**"}

// precedences of the left-associative operators, from the loosest to the tightest.
var precedences = [len(ops)]int{0, 1, 2, 3, 4, 5, 5, 6, 6, 6, 6, 7, 7, 8, 8, 9, 9, 9, -1, -1}

func opNumber(op string) operator { return operator(slices.Index(ops[:], op)) }

// chained is n with the terms after it.
func chained(n node, terms []term) node {
	if len(terms) == 0 {
		return n
	}
	return &chain{x: n, terms: terms}
}

func (p *parser) level(min int) node {
	n := p.power()
	var terms []term
	for {
		op := opNumber(p.tok)
		if int(op) >= len(ops) || precedences[op] < max(min, 0) {
			return chained(n, terms)
		}
		p.next()
		at := p.at
		p.enter()
		terms = append(terms, term{op: op, y: p.level(precedences[op] + 1), at: int32(at)})
		p.depth--
	}
}

func (p *parser) power() node {
	n := p.unary()
	if p.tok != "**" {
		return n
	}
	p.enter()
	defer func() { p.depth-- }()
	p.next()
	y := p.power()
	return chained(n, []term{{op: opNumber("**"), y: y, at: int32(p.prevIfEnd())}})
}

func (p *parser) unary() node {
	p.enter()
	defer func() { p.depth-- }()
	switch op := p.tok; op {
	case "!", "~", "-", "+":
		p.next()
		return &unary{op: op[0], x: p.unary()}
	case "++", "--":
		by := int64(1)
		if op == "--" {
			by = -1
		}
		second := p.i - 1
		p.next()
		if p.tok != "a" { // ++5 is + +5, ---x is - --x
			p.i = second
			p.next()
			return &unary{op: op[0], x: p.unary()}
		}
		r := p.ref
		p.next()
		return &incdec{to: r, by: by}
	}
	return p.primary()
}

func (p *parser) primary() node {
	switch p.tok {
	case "0":
		v := num(p.num)
		p.next()
		if p.tok == "++" || p.tok == "--" {
			// 5++ is an error, 5++3 is 5 + +3.
			save := *p
			p.next()
			if p.tok == "" {
				p.fail(operandExpected, save.at+1)
			}
			*p = save
			p.tok = p.tok[:1]
			p.i--
		}
		return v
	case "a":
		r := p.ref
		p.next()
		switch p.tok {
		case "++":
			p.next()
			return &incdec{to: r, by: 1, post: true}
		case "--":
			p.next()
			return &incdec{to: r, by: -1, post: true}
		}
		return r
	case "(":
		p.next()
		n := p.comma()
		if p.tok != ")" {
			p.fail("missing `)'", p.prevIfEnd())
		}
		p.next()
		if r, ok := n.(*ref); ok {
			// (x) = 1 is not an assignment.
			return &unary{op: '+', x: r}
		}
		return n
	case "":
		p.fail(operandExpected, p.prev)
	}
	p.fail(operandExpected, p.at)
	return nil
}

func (p *parser) prevIfEnd() int {
	if p.tok == "" {
		return p.prev
	}
	return p.at
}
