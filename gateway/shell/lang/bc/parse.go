package bc

import (
	"slices"
	"strconv"
)

// node is an expression or a statement.
type node struct {
	op   string // what it is; for operators their text
	name string
	text string // of a string or number
	kids []*node
	pc   int // what GNU bc's program counter is when it happens
	// array is set for a[i] and for a[] as an argument.
	array bool
}

// function is what define makes.
type function struct {
	name   string
	params []param
	autos  []param
	body   []*node
	void   bool
}

type param struct {
	name         string
	array, byRef bool
}

// syntaxError ends the parsing of a line.
type syntaxError struct {
	line int
	msg  string
}

// quit ends everything.
type quit struct{}

type parser struct {
	lex      *lexer
	tok      token
	peeked   []token
	pc       int
	loops    int
	depth    int
	inFunc   bool
	tick     func(int)
	def      func(*function) // what a definition is told to
	isVoid   func(name string) bool
	warranty func()
	limits   func()
}

// maxNesting bounds the recursion of the parser and of what walks its trees.
const maxNesting = 2000

func (p *parser) advance() {
	p.tick(1)
	if len(p.peeked) > 0 {
		p.tok, p.peeked = p.peeked[0], p.peeked[1:]
	} else {
		p.tok = p.lex.next()
	}
	if p.tok.kind == tokKeyword && p.tok.text == "quit" {
		panic(quit{})
	}
}

func (p *parser) peek() token {
	if len(p.peeked) == 0 {
		p.peeked = append(p.peeked, p.lex.next())
	}
	return p.peeked[0]
}

func (p *parser) fail() {
	line := p.tok.line
	if p.tok.kind == tokEOF { // where the next file would begin
		line = 1
	}
	panic(syntaxError{line, "syntax error"})
}

func (p *parser) is(text string) bool {
	return (p.tok.kind == tokOp || p.tok.kind == tokKeyword) && p.tok.text == text
}

func (p *parser) accept(text string) bool {
	if !p.is(text) {
		return false
	}
	p.advance()
	return true
}

func (p *parser) expect(text string) {
	if !p.accept(text) {
		p.fail()
	}
}

func (p *parser) newlines() {
	for p.tok.kind == tokNewline {
		p.advance()
	}
}

// recover skips the rest of a line after an error.
func (p *parser) recover() {
	for p.tok.kind != tokNewline && p.tok.kind != tokEOF {
		p.advance()
	}
	p.loops, p.inFunc, p.depth = 0, false, 0
}

// line parses up to a newline; more is false at the end of the input.
func (p *parser) line() (stmts []*node, more bool) {
	p.advance()
	p.pc = 0
	if p.tok.kind == tokEOF {
		return nil, false
	}
	for p.is("define") {
		p.define()
		p.pc = 0
	}
	for p.tok.kind != tokNewline {
		if p.tok.kind == tokEOF {
			p.fail()
		}
		if !p.is(";") {
			stmts = append(stmts, p.statement())
		}
		if p.tok.kind == tokNewline {
			break
		}
		if !p.accept(";") {
			p.fail()
		}
	}
	return stmts, true
}

func (p *parser) define() {
	p.advance()
	f := &function{void: p.accept("void")}
	if p.tok.kind != tokName {
		p.fail()
	}
	f.name = p.tok.text
	p.advance()
	p.expect("(")
	f.params = p.names(")", true)
	p.expect(")")
	p.newlines()
	p.expect("{")
	p.newlines()
	if p.accept("auto") {
		line := p.tok.line
		f.autos = p.names("", false)
		for _, v := range f.autos {
			if slices.ContainsFunc(f.params, func(w param) bool { return w.name == v.name && w.array == v.array }) {
				panic(syntaxError{line, "variable in both parameter and auto lists"})
			}
		}
		if p.tok.kind != tokNewline && !p.is(";") {
			p.fail()
		}
		p.advance()
	}
	p.pc, p.inFunc = 0, true
	f.body = p.block()
	p.inFunc = false
	p.def(f)
}

// names reads parameters or automatic variables.
func (p *parser) names(end string, params bool) []param {
	var list []param
	if end != "" && p.is(end) {
		return nil
	}
	seen := map[param]bool{}
	for {
		v := param{byRef: params && p.accept("*")}
		if p.tok.kind != tokName {
			p.fail()
		}
		v.name = p.tok.text
		p.advance()
		if p.accept("[") {
			p.expect("]")
			v.array = true
		} else if v.byRef {
			p.fail()
		}
		if key := (param{name: v.name, array: v.array}); seen[key] {
			panic(syntaxError{p.tok.line, "duplicate parameter names"})
		} else {
			seen[key] = true
		}
		list = append(list, v)
		if !p.accept(",") {
			return list
		}
	}
}

// block reads statements up to the closing brace.
func (p *parser) block() []*node {
	var list []*node
	for {
		for p.tok.kind == tokNewline || p.is(";") {
			p.advance()
		}
		if p.accept("}") {
			return list
		}
		list = append(list, p.statement())
		if p.tok.kind != tokNewline && !p.is(";") && !p.is("}") {
			p.fail()
		}
	}
}

func (p *parser) enter() {
	if p.depth++; p.depth > maxNesting {
		panic(syntaxError{p.tok.line, "nested too deeply"})
	}
}

func (p *parser) statement() *node {
	p.enter()
	defer func() { p.depth-- }()
	if p.tok.kind == tokString {
		n := &node{op: "string", text: p.tok.text}
		p.pc += len(n.text) + 2
		p.advance()
		return n
	}
	if p.accept("{") {
		return &node{op: "block", kids: p.block()}
	}
	if p.tok.kind == tokKeyword {
		switch word := p.tok.text; word {
		case "warranty", "limits":
			f := p.limits
			if word == "warranty" {
				f = p.warranty
			}
			p.advance()
			f()
			return &node{op: "block"}
		case "break", "continue":
			if p.loops == 0 {
				what := "Break outside a for/while"
				if word == "continue" {
					what = "Continue outside a for"
				}
				panic(syntaxError{p.tok.line, what})
			}
			p.advance()
			p.pc += 3
			return &node{op: word}
		case "halt":
			p.advance()
			p.pc++
			return &node{op: word}
		case "return":
			p.advance()
			n := &node{op: word}
			if p.tok.kind != tokNewline && p.tok.kind != tokEOF && !p.is(";") && !p.is("}") {
				n.kids = []*node{p.expr()}
			} else {
				p.pc++
			}
			if !p.inFunc {
				panic(syntaxError{p.tok.line, "Return outside of a function."})
			}
			p.pc++
			return n
		case "print":
			p.advance()
			n := &node{op: word}
			for {
				if p.tok.kind == tokString {
					n.kids = append(n.kids, &node{op: "string", text: p.tok.text})
					p.pc += len(p.tok.text) + 2
					p.advance()
				} else {
					n.kids = append(n.kids, p.expr())
					p.pc++
				}
				if !p.accept(",") {
					return n
				}
			}
		case "if":
			p.advance()
			p.expect("(")
			n := &node{op: word, kids: []*node{p.expr()}}
			p.expect(")")
			p.pc += 3
			p.newlines()
			n.kids = append(n.kids, p.statement())
			if p.accept("else") {
				p.pc += 3
				p.newlines()
				n.kids = append(n.kids, p.statement())
			}
			return n
		case "while":
			p.advance()
			p.expect("(")
			n := &node{op: word, kids: []*node{p.expr()}}
			p.expect(")")
			p.pc += 3
			p.newlines()
			n.kids = append(n.kids, p.body())
			p.pc += 3
			return n
		case "for":
			p.advance()
			p.expect("(")
			n := &node{op: word, kids: make([]*node, 4)}
			for i, end := range []string{";", ";", ")"} {
				if !p.is(end) {
					n.kids[i] = p.expr()
				} else {
					p.pc++
				}
				p.expect(end)
				p.pc += []int{1, 6, 4}[i]
			}
			p.newlines()
			n.kids[3] = p.body()
			p.pc += 3
			return n
		}
	}
	e := p.expr()
	p.pc++
	n := &node{op: "show", kids: []*node{e}}
	if isAssignment(e) || e.op == "call" && p.isVoid(e.name) {
		n.op = "drop"
	}
	return n
}

func (p *parser) body() *node {
	p.loops++
	n := p.statement()
	p.loops--
	return n
}

func isAssignment(e *node) bool {
	return e.op == "=" || len(e.op) == 2 && e.op[1] == '=' && e.name == "assign"
}

func (p *parser) expr() *node {
	p.enter()
	n := p.or()
	p.depth--
	return n
}

func (p *parser) or() *node {
	n := p.and()
	for p.is("||") {
		p.advance()
		p.pc += 3
		n = &node{op: "||", kids: []*node{n, p.and()}}
		p.pc += 8
	}
	return n
}

func (p *parser) and() *node {
	n := p.not()
	for p.is("&&") {
		p.advance()
		p.pc += 5
		n = &node{op: "&&", kids: []*node{n, p.not()}}
		p.pc += 6
	}
	return n
}

func (p *parser) not() *node {
	if p.accept("!") {
		p.enter()
		n := &node{op: "!", kids: []*node{p.not()}}
		p.depth--
		p.pc++
		return n
	}
	return p.relation()
}

func (p *parser) relation() *node {
	n := p.sum()
	for p.tok.kind == tokOp {
		switch op := p.tok.text; op {
		case "<", ">", "<=", ">=", "==", "!=":
			p.advance()
			n = &node{op: "rel", text: op, kids: []*node{n, p.sum()}}
			p.pc++
		default:
			return n
		}
	}
	return n
}

func (p *parser) binary(op string, a, b *node) *node {
	p.pc++
	return &node{op: op, kids: []*node{a, b}, pc: p.pc}
}

func (p *parser) sum() *node {
	n := p.product()
	for p.is("+") || p.is("-") {
		op := p.tok.text
		p.advance()
		n = p.binary(op, n, p.product())
	}
	return n
}

func (p *parser) product() *node {
	n := p.power()
	for p.is("*") || p.is("/") || p.is("%") {
		op := p.tok.text
		p.advance()
		n = p.binary(op, n, p.power())
	}
	return n
}

func (p *parser) power() *node {
	n := p.unary()
	if p.accept("^") {
		p.enter()
		n = p.binary("^", n, p.power())
		p.depth--
	}
	return n
}

func (p *parser) unary() *node {
	p.enter()
	defer func() { p.depth-- }()
	switch {
	case p.accept("-"):
		n := &node{op: "neg", kids: []*node{p.unary()}}
		p.pc++
		return n
	case p.is("++") || p.is("--"):
		op := p.tok.text
		p.advance()
		v := p.variable()
		p.pc += 2 * p.loadSize(v)
		return &node{op: op, text: "pre", kids: []*node{v}, pc: p.pc}
	}
	return p.primary()
}

// loadSize is how long the code is that loads or stores v.
func (p *parser) loadSize(*node) int { return 2 }

// variable reads a name that can be assigned to, without its code.
func (p *parser) variable() *node {
	t := p.tok
	switch {
	case t.kind == tokName:
		p.advance()
		if p.accept("[") {
			n := &node{op: "element", name: t.text, kids: []*node{p.expr()}, array: true}
			p.expect("]")
			return n
		}
		return &node{op: "variable", name: t.text}
	case t.kind == tokKeyword && (t.text == "scale" || t.text == "ibase" || t.text == "obase" || t.text == "last" ||
		t.text == "history"):
		p.advance()
		return &node{op: "special", name: t.text}
	case t.kind == tokOp && t.text == ".":
		p.advance()
		return &node{op: "special", name: "last"}
	}
	p.fail()
	return nil
}

// loaded makes the value of v, or the assignment that follows it.
func (p *parser) loaded(v *node) *node {
	if p.tok.kind == tokOp {
		switch op := p.tok.text; op {
		case "=", "+=", "-=", "*=", "/=", "%=", "^=":
			p.advance()
			if op != "=" {
				p.pc += p.loadSize(v)
				if v.array {
					p.pc++
				}
			}
			p.enter()
			n := &node{op: op, name: "assign", kids: []*node{v, p.sum()}}
			p.depth--
			if op != "=" {
				p.pc++
			}
			n.text = strconv.Itoa(p.pc) // of the operator
			p.pc += p.loadSize(v)
			n.pc = p.pc
			return n
		case "++", "--":
			p.advance()
			p.pc += 2 * p.loadSize(v)
			return &node{op: op, text: "post", kids: []*node{v}, pc: p.pc}
		}
	}
	p.pc += p.loadSize(v)
	v.pc = p.pc
	return v
}

func (p *parser) primary() *node {
	t := p.tok
	switch t.kind {
	case tokNumber:
		p.advance()
		if t.text == "0" || t.text == "1" {
			p.pc++
		} else {
			p.pc += len(t.text) + 2
		}
		return &node{op: "number", text: t.text}
	case tokName:
		if next := p.peek(); next.kind == tokOp && next.text == "(" {
			p.advance()
			p.advance()
			n := &node{op: "call", name: t.text}
			for !p.is(")") {
				n.kids = append(n.kids, p.argument())
				if !p.accept(",") {
					break
				}
			}
			p.expect(")")
			p.pc += 2
			n.pc = p.pc
			p.pc += len(n.kids) + 1
			return n
		}
		return p.loaded(p.variable())
	case tokKeyword:
		switch t.text {
		case "scale":
			if next := p.peek(); next.kind != tokOp || next.text != "(" {
				break
			}
			fallthrough
		case "length", "sqrt":
			p.advance()
			p.expect("(")
			n := &node{op: t.text + "()", kids: []*node{p.expr()}}
			p.expect(")")
			p.pc += 2
			n.pc = p.pc
			return n
		case "read", "random":
			p.advance()
			p.expect("(")
			p.expect(")")
			p.pc += 2
			return &node{op: t.text + "()", pc: p.pc}
		}
		return p.loaded(p.variable())
	}
	if p.accept("(") {
		n := p.expr()
		p.expect(")")
		return &node{op: "paren", kids: []*node{n}}
	}
	return p.loaded(p.variable())
}

// argument reads an argument of a call: an expression or a whole array.
func (p *parser) argument() *node {
	if p.tok.kind == tokName {
		if next := p.peek(); next.kind == tokOp && next.text == "[" {
			name := p.tok
			p.advance() // [
			if after := p.peek(); after.kind == tokOp && after.text == "]" {
				p.advance()
				p.advance()
				p.pc += 3
				return &node{op: "array", name: name.text, array: true}
			}
			// Not a whole array after all.
			p.peeked = append([]token{p.tok}, p.peeked...)
			p.tok = name
		}
	}
	return p.expr()
}
