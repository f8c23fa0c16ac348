package jq

import (
	"strings"
)

// nodeOp is what a node of a syntax tree does.
type nodeOp uint8

const (
	nIdentity nodeOp = iota
	nRecurse
	nConst   // v
	nLoc     // v
	nString  // the parts of list, put through the format s
	nFormat  // s
	nArray   // of a, which may be nil
	nObject  // list of keys and values in turn
	nNegate  // a
	nIndex   // a[b], with opt: a[b]?
	nSlice   // a[b:c]
	nEach    // a[]
	nTry     // a, c is the handler or nil
	nIf      // a then b else c
	nReduce  // a as pats (b; c)
	nForeach // a as pats (b; c; d)
	nLabel   // s, b is the body
	nBreak   // s
	nVar     // s
	nCall    // s with list
	nBinary  // a s b
	nAnd
	nOr
	nAlternative
	nPipe   // a | b
	nComma  // list
	nAs     // a as pats | b
	nDef    // def; b
	nAssign // a s b
)

// constness is what is known about whether a node is a constant.
type constness uint8

const (
	notLooked constness = iota
	isConstant
	isNone
)

type node struct {
	op         nodeOp
	opt        bool
	known      constness // of constantOf, with v
	s          string
	v          any
	a, b, c, d *node
	list       []*node
	pats       []*pattern
	def        *funcDef
	at, end    int
}

// pattern is of a destructuring: a variable, elements or fields.
type pattern struct {
	name   string // of a variable
	array  []*pattern
	fields []fieldPattern
}

type fieldPattern struct {
	name string // the variable that is bound to the field too
	key  *node
	val  *pattern // nil when there is only the variable
}

type funcDef struct {
	name   string
	params []string // with $ those of values
	body   *node
	called map[string]bool // parameters of values that the body calls, as functions
}

type importDef struct {
	path, alias string
	data        bool
	meta        any
}

// source is a parsed file.
type source struct {
	file, text string
	meta       any
	hasMeta    bool
	imports    []importDef
	defs       []*funcDef
	body       *node // nil in a file of definitions only
}

const (
	maxSource = 1 << 20
	maxNested = 3000 // the parser and the compiler recurse
)

// Meter counts the work and the memory of compiling.
type Meter struct{ Tick, Hold func(int) }

// free counts nothing.
var free = Meter{noTick, noTick}

type parser struct {
	lexer
	tok    token
	prev   token
	tokens int
	depth  int
	values map[string][]*funcDef // the functions around that have a parameter of values, by its name

	literals bool // numbers keep their texts
}

const (
	tokenTurn = 64  // tokens between ticks
	tokenSize = 300 // bytes of the nodes of a token, about
)

// syntaxError ends the parser; what there is to say has been noted.
type syntaxError struct{}

// parse parses the text of a program, or of the module in a file.
func parse(src, file string, literals bool, meter Meter) (s *source, err error) {
	if len(src) > maxSource {
		return nil, failCompile("program too long")
	}
	p := &parser{lexer: lexer{file: file, src: src, meter: meter}, literals: literals, values: map[string][]*funcDef{}}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case syntaxError:
		default:
			panic(r)
		}
		if len(p.problems) > 0 {
			err = &CompileError{p.problems}
		}
	}()
	p.advance()
	return p.source(), nil
}

func (p *parser) advance() {
	if p.tokens++; p.tokens%tokenTurn == 0 {
		p.meter.Tick(tokenTurn)
		p.meter.Hold(tokenTurn * tokenSize)
	}
	p.prev = p.tok
	p.tok = p.next()
}

// unexpected says that the token is not one of the expected ones; no list is given when there are too many.
func (p *parser) unexpected(expected ...string) {
	p.note(expected...)
	panic(syntaxError{})
}

func (p *parser) note(expected ...string) {
	msg := "syntax error, unexpected " + p.tok.kind
	if len(expected) > 0 && len(expected) <= 4 {
		msg += ", expecting " + strings.Join(expected, " or ")
	}
	p.fail(msg, p.tok.at, p.tok.end)
}

func (p *parser) is(kind string) bool { return p.tok.kind == kind }

func (p *parser) take(kind string) bool {
	if p.tok.kind != kind {
		return false
	}
	p.advance()
	return true
}

// expect takes a token that is of that kind; more are other ones that were possible here.
func (p *parser) expect(kind string, more ...string) token {
	t := p.tok
	if !p.take(kind) {
		if len(more) == 0 {
			more = []string{kind}
		}
		p.unexpected(more...)
	}
	return t
}

func (p *parser) enter() {
	if p.depth++; p.depth > maxNested {
		p.problems = []string{"program nested too deeply"}
		panic(syntaxError{})
	}
}

func (p *parser) leave() { p.depth-- }

func (p *parser) source() *source {
	s := &source{file: p.file, text: p.src}
	if p.is("module") {
		at := p.tok.at
		p.advance()
		s.meta, s.hasMeta = p.metadata(at), true
		p.expect("';'", "'|'", "','", "';'")
	}
	for p.is("import") || p.is("include") {
		s.imports = append(s.imports, p.importDef())
	}
	if p.is(tokEOF) {
		return s
	}
	for p.is("def") {
		def := p.funcDef()
		s.defs = append(s.defs, def)
		if p.is(tokEOF) {
			return s
		}
	}
	s.body = p.query()
	if !p.is(tokEOF) {
		p.unexpected(tokEOF)
	}
	return s
}

// metadata is a constant object.
func (p *parser) metadata(at int) any {
	q := p.query()
	v, ok := constantOf(q)
	if !ok {
		p.fail("Module metadata must be constant", at, p.prev.end)
	} else if _, ok := v.(*Object); !ok {
		p.fail("Module metadata must be an object", at, p.prev.end)
	} else {
		return v
	}
	return NewObject()
}

// constantOf is the value of a node that is the same for every input. It is found out once: those who ask ask for what
// is inside as well.
func constantOf(q *node) (any, bool) {
	if q.op == nConst || q.op == nLoc {
		return q.v, true
	}
	if q.known == notLooked {
		v, ok := evaluateConstant(q)
		if q.known = isNone; ok {
			q.v, q.known = v, isConstant
		}
	}
	return q.v, q.known == isConstant
}

func evaluateConstant(q *node) (any, bool) {
	switch q.op {
	case nString:
		if len(q.list) == 0 {
			return "", true
		}
		if len(q.list) == 1 && q.list[0].op == nConst && q.list[0].opt {
			return q.list[0].v, true
		}
	case nArray:
		return constantArray(q.a)
	case nNegate:
		v, ok := constantOf(q.a)
		if _, num := number(v); ok && num {
			return negate(v), true
		}
	case nObject:
		o := NewObject()
		for i := 0; i < len(q.list); i += 2 {
			k, ok := constantOf(q.list[i])
			v, ok2 := constantOf(q.list[i+1])
			key, ok3 := k.(string)
			if !ok || !ok2 || !ok3 {
				return nil, false
			}
			o.put(key, v)
		}
		return o, true
	}
	return nil, false
}

func constantArray(q *node) (any, bool) {
	if q == nil {
		return NewArray(nil), true
	}
	list := []*node{q}
	if q.op == nComma {
		list = q.list
	}
	var e []any
	for _, x := range list {
		v, ok := constantOf(x)
		if !ok {
			return nil, false
		}
		e = append(e, v)
	}
	return NewArray(e), true
}

func (p *parser) importDef() importDef {
	include := p.is("include")
	at := p.tok.at
	p.advance()
	if !p.is(tokQuote) && !p.is(tokFormat) {
		p.unexpected(tokFormat, tokQuote)
	}
	from := p.str("")
	name, ok := constantOf(from)
	if !ok {
		p.fail("Import path must be constant", at, p.prev.end)
		name = ""
	}
	im := importDef{path: name.(string)}
	if !include {
		p.expect("as")
		switch {
		case p.is(tokBinding):
			im.alias, im.data = p.tok.text, true
		case p.is(tokIdent):
			im.alias = p.tok.text
		default:
			p.unexpected(tokIdent, tokBinding)
		}
		p.advance()
	}
	if !p.is("';'") {
		im.meta = p.metadata(at)
	}
	p.expect("';'", "'|'", "','", "';'")
	return im
}

func (p *parser) funcDef() *funcDef {
	p.enter()
	defer p.leave()
	p.expect("def")
	def := &funcDef{}
	if !p.is(tokIdent) && !keywords[p.tok.kind] {
		p.unexpected()
	}
	def.name = p.tok.text
	p.advance()
	if p.take("'('") {
		for {
			switch {
			case p.is(tokBinding):
				def.params = append(def.params, "$"+p.tok.text)
			case p.is(tokIdent):
				def.params = append(def.params, p.tok.text)
			case keywords[p.tok.kind]:
				def.params = append(def.params, p.tok.text)
			default:
				p.unexpected()
			}
			p.advance()
			if p.take("')'") {
				break
			}
			p.expect("';'", "';'", "')'")
		}
		p.expect("':'")
	} else {
		p.expect("':'", "'('", "':'")
	}
	for _, name := range def.params {
		if plain, value := strings.CutPrefix(name, "$"); value {
			p.values[plain] = append(p.values[plain], def)
		}
	}
	def.body = p.query()
	for _, name := range def.params {
		if plain, value := strings.CutPrefix(name, "$"); value {
			p.values[plain] = p.values[plain][:len(p.values[plain])-1]
		}
	}
	p.expect("';'", "'|'", "','", "';'")
	return def
}

// query parses pipes, commas, and what has the rest of them as its body.
func (p *parser) query() *node {
	p.enter()
	defer p.leave()
	var chain []*node // each has the one after it as its b
	var list []*node  // operands of commas
	link := func(last *node) *node {
		if len(list) > 0 {
			list = append(list, last)
			last = &node{op: nComma, list: list, at: list[0].at, end: last.end}
			list = nil
		}
		return last
	}
	type outer struct {
		at   int // in chain
		list []*node
	}
	var outers []outer // commas that a binding interrupts
	fold := func(last *node) *node {
		last = link(last)
		for i := len(chain) - 1; i >= 0; i-- {
			chain[i].b = last
			last = chain[i]
			for n := len(outers); n > 0 && outers[n-1].at == i; n-- {
				list, outers = outers[n-1].list, outers[:n-1]
				last = link(last)
			}
		}
		return last
	}
	bind := func(n *node) {
		if len(list) > 0 {
			outers = append(outers, outer{len(chain), list})
			list = nil
		}
		chain = append(chain, n)
	}
	for {
		at := p.tok.at
		switch {
		case p.is("def"):
			bind(&node{op: nDef, def: p.funcDef(), at: at})
			continue
		case p.is("label"):
			p.advance()
			name := p.expect(tokBinding)
			p.expect("'|'")
			bind(&node{op: nLabel, s: name.text, at: at})
			continue
		}
		e := p.expr(0)
		switch {
		case p.take("as"):
			n := &node{op: nAs, a: e, pats: p.patterns(), at: at}
			p.expect("'|'")
			bind(n)
		case p.take("'|'"):
			e = link(e)
			chain = append(chain, &node{op: nPipe, a: e, at: at})
		case p.take("','"):
			list = append(list, e)
		default:
			return fold(e)
		}
	}
}

// precedence of the binary operators; those of one level without an order cannot follow each other.
var precedence = map[string]int{
	"//": 2, "'='": 3, "|=": 3, "+=": 3, "-=": 3, "*=": 3, "/=": 3, "%=": 3, "//=": 3, "or": 4, "and": 5, "==": 6, "!=": 6,
	"'<'": 6, "'>'": 6,
	"<=": 6, ">=": 6, "'+'": 7, "'-'": 7, "'*'": 8, "'/'": 8, "'%'": 8,
}

// expr parses operators that bind at least as tightly as level.
func (p *parser) expr(level int) *node {
	p.enter()
	defer p.leave()
	left := p.unary()
	last := 0
	for {
		op := p.tok.kind
		prec := precedence[op]
		if prec == 0 || prec < level {
			return left
		}
		if last == prec && (prec == 3 || prec == 6) {
			p.unexpected()
		}
		p.advance()
		right := prec + 1
		if op == "//" {
			right = prec
		}
		r := p.expr(right)
		left = binaryNode(strings.Trim(op, "'"), prec, left, r)
		last = prec
	}
}

func binaryNode(op string, prec int, a, b *node) *node {
	n := &node{op: nBinary, s: op, a: a, b: b, at: a.at, end: b.end}
	switch {
	case prec == 3:
		n.op = nAssign
	case op == "//":
		n.op = nAlternative
	case op == "or":
		n.op = nOr
	case op == "and":
		n.op = nAnd
	}
	return n
}

// unary parses what comes before postfix terms.
func (p *parser) unary() *node {
	at := p.tok.at
	switch {
	case p.is("'-'"):
		p.enter()
		defer p.leave()
		p.advance()
		x := p.expr(8)
		return &node{op: nNegate, a: x, at: at, end: p.prev.end}
	case p.is("try"):
		p.advance()
		n := &node{op: nTry, at: at, a: p.post()}
		if p.take("catch") {
			n.c = p.post()
		}
		n.end = p.prev.end
		return n
	}
	return p.term()
}

// post is what try and catch take: a term, or another prefix.
func (p *parser) post() *node {
	p.enter()
	defer p.leave()
	if p.is("'-'") || p.is("try") {
		return p.unary()
	}
	return p.term()
}

// call notes that name is called: the innermost function around that has such a parameter needs it as a function.
func (p *parser) call(name string) {
	around := p.values[name]
	if len(around) == 0 {
		return
	}
	def := around[len(around)-1]
	if def.called == nil {
		def.called = map[string]bool{}
	}
	def.called[name] = true
}
