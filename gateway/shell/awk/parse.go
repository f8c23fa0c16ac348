package awk

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	re "github.com/pgbox/pgbox/gateway/shell/regex"
)

const (
	maxDepth = 1500  // nesting of what the parser recurses into
	maxTree  = 12000 // height of an expression: 1+1+1+… counts one per term
)

// Program is a parsed, resolved and compiled awk program.
type Program struct {
	begin, end         []block
	beginFile, endFile []block
	rules              []compiledRule
	readsMain          bool // there are rules besides BEGIN
	globals            map[string]*symbol
	nScalars, nArrays  int
	scalarNames        []string
	arrayNames         []string
	funcs              map[string]*function
	nRanges            int
	nRegexes           int
}

type symbol struct {
	name   string
	array  bool
	scalar bool
	slot   int
	pos    int
}

// edge says that the variable v is passed as argument i of fn.
type edge struct {
	v  *varRef
	fn *function
	i  int
}

type parser struct {
	lexer
	rules    []rule
	globals  map[string]*symbol
	funcs    map[string]*function
	fnOrder  []*function
	calls    []*call
	refs     []*varRef
	edges    []edge
	fn       *function // being parsed
	level    int
	inLoop   int
	inSwtch  int
	ruleKind ruleKind // of the rule being parsed
	noGt     bool     // inside print's unparenthesised list: > redirects
	places   map[any]position
	load     func(name string) (Source, error)
	included []string
}

// position is where a statement or a pattern stands; the zero position is the first line of the command line's program.
type position struct {
	name string
	line int // counted from 0
}

func (p position) String() string {
	if p.name == "" {
		p.name = "cmd. line"
	}
	return fmt.Sprintf("%s:%d", p.name, p.line+1)
}

func (p *parser) here() position { return position{p.name, p.line - 1} }

// placed remembers where a statement or a pattern begins, if that is not the zero position.
func (p *parser) placed(node any, at position) {
	if at != (position{}) {
		p.places[node] = at
	}
}

// Parse reads and compiles a program; the sources are joined as if they were one file each ending in a newline.
// The error is a *SyntaxError; warn is told of harmless mistakes, load reads what @include asks for.
func Parse(sources []Source, warn func(string), load func(name string) (Source, error)) (prog *Program, err error) {
	p := &parser{globals: map[string]*symbol{}, funcs: map[string]*function{}, places: map[any]position{}, load: load}
	warned := map[string]bool{}
	p.warn = func(s string) {
		if !warned[s] {
			warned[s] = true
			warn(p.here().String() + ": " + s)
		}
	}
	defer func() {
		if r := recover(); r != nil {
			var se *SyntaxError
			if e, ok := r.(error); ok && errors.As(e, &se) {
				prog, err = nil, se
				return
			}
			panic(r)
		}
	}()
	for _, s := range sources {
		p.src, p.name, p.pos, p.line = s.Text, s.Name, 0, 1
		p.program()
	}
	p.resolve()
	return p.compile(), nil
}

func (p *parser) fail(format string, args ...any) {
	panic(p.errorAt(p.start, format, args...))
}

func (p *parser) syntaxError() {
	switch p.tok {
	case tEOF, tNewline:
		p.fail("unexpected newline or end of string")
	default:
		p.fail("syntax error")
	}
}

func (p *parser) expect(t token) {
	if p.tok != t {
		p.syntaxError()
	}
	p.next()
}

func (p *parser) skipNewlines() {
	for p.tok == tNewline {
		p.next()
	}
}

func (p *parser) skipTerminators() {
	for p.tok == tNewline || p.tok == tSemi {
		p.next()
	}
}

func (p *parser) enter() {
	if p.level++; p.level > maxDepth {
		p.fail("program nested too deeply")
	}
}

// check bounds the height of a finished tree.
func (p *parser) check(e expr) expr {
	if e.depth() > maxTree {
		p.fail("expression too long")
	}
	return e
}

func (p *parser) program() {
	p.next()
	p.skipTerminators()
	for p.tok != tEOF {
		p.item()
		p.skipTerminators()
	}
}

func (p *parser) item() {
	p.noGt = false
	switch p.tok {
	case tFunction:
		p.function()
		return
	case tBegin, tEnd, tBeginFile, tEndFile:
		kind := map[token]ruleKind{tBegin: ruleBegin, tEnd: ruleEnd, tBeginFile: ruleBeginFile, tEndFile: ruleEndFile}[p.tok]
		p.next()
		if p.tok != tLbrace {
			p.syntaxError()
		}
		p.ruleKind = kind
		p.rules = append(p.rules, rule{kind: kind, body: p.block()})
	case tAt:
		p.include()
	default:
		p.ruleKind = ruleMain
		r := rule{}
		at := p.here()
		if p.tok != tLbrace {
			r.pattern = p.expr()
			if p.tok == tComma {
				p.next()
				p.skipNewlines()
				r.to = p.expr()
			}
			p.placed(r.pattern, at)
		}
		if p.tok == tLbrace {
			r.body = p.block()
		} else {
			r.noBody = true
		}
		p.rules = append(p.rules, r)
		if r.noBody && p.tok != tNewline && p.tok != tSemi && p.tok != tEOF {
			p.syntaxError()
		}
	}
}

// include parses the file that @include names in its place.
func (p *parser) include() {
	p.next()
	if p.tok != tName || p.text != "include" {
		p.fail("only @include is supported")
	}
	p.next()
	if p.tok != tString {
		p.syntaxError()
	}
	name := p.text
	at := p.start
	p.next()
	if p.tok != tNewline && p.tok != tSemi && p.tok != tEOF {
		p.syntaxError()
	}
	if slices.Contains(p.included, name) {
		return
	}
	p.included = append(p.included, name)
	src, err := p.load(name)
	if err != nil {
		panic(p.errorAt(at, "error: cannot open source file `%s' for reading: %v", name, err))
	}
	p.enter()
	outer := p.lexer
	p.src, p.name, p.pos, p.line = src.Text, src.Name, 0, 1
	p.program()
	p.lexer = outer
	p.level--
}

func (p *parser) function() {
	p.next()
	if p.tok != tName && p.tok != tFuncName {
		p.syntaxError()
	}
	f := p.funcNamed(p.text)
	if f.defined {
		p.fail("error: function name `%s' previously defined", p.text)
	}
	f.defined, f.pos = true, p.start
	p.next()
	p.expect(tLparen)
	p.skipNewlines()
	for p.tok != tRparen {
		if p.tok != tName {
			p.syntaxError()
		}
		if i := slices.Index(f.params, p.text); i >= 0 {
			p.fail("error: function `%s': parameter #%d, `%s', duplicates parameter #%d", f.name, len(f.params)+1, p.text, i+1)
		}
		if p.text == f.name {
			p.fail("error: function `%s': cannot use function name as parameter name", f.name)
		}
		f.params = append(f.params, p.text)
		p.next()
		p.skipNewlines()
		if p.tok == tComma {
			p.next()
			p.skipNewlines()
			if p.tok == tRparen {
				p.syntaxError()
			}
		} else if p.tok != tRparen {
			p.syntaxError()
		}
	}
	f.isArray, f.used = make([]bool, len(f.params)), make([]bool, len(f.params))
	p.next()
	p.skipNewlines()
	p.fn = f
	f.body = p.block()
	p.fn = nil
}

func (p *parser) funcNamed(name string) *function {
	f := p.funcs[name]
	if f == nil {
		f = &function{name: name}
		p.funcs[name] = f
		p.fnOrder = append(p.fnOrder, f)
	}
	return f
}

// regexLit checks the regular expression that is the current token.
func (p *parser) regexLit() *regexLit {
	if _, err := re.Compile(p.text, re.Options{Dialect: re.Awk}); err != nil {
		p.fail("error: %v: /%s/", err, p.text)
	}
	return &regexLit{node{1}, p.text}
}

// block parses { statements }.
func (p *parser) block() []stmt {
	p.enter()
	defer func() { p.level-- }()
	p.expect(tLbrace)
	var out []stmt
	p.skipTerminators()
	for p.tok != tRbrace {
		if p.tok == tEOF {
			p.syntaxError()
		}
		out = append(out, p.stmt())
		p.skipTerminators()
	}
	p.next()
	return out
}

// body parses the statement a control structure governs.
func (p *parser) body() []stmt {
	p.skipNewlines()
	if p.tok == tSemi {
		p.next()
		return nil
	}
	if p.tok == tLbrace {
		b := p.block()
		return b
	}
	return []stmt{p.stmt()}
}

func (p *parser) loopBody() []stmt {
	p.inLoop++
	defer func() { p.inLoop-- }()
	return p.body()
}

// endSimple accepts the end of a simple statement.
func (p *parser) endSimple() {
	switch p.tok {
	case tSemi, tNewline:
		p.next()
	case tRbrace, tEOF:
	default:
		p.syntaxError()
	}
}

func (p *parser) stmt() stmt {
	at := p.here()
	s := p.statement()
	switch s.(type) {
	case *blockStmt:
	default:
		p.placed(s, at)
	}
	return s
}

func (p *parser) statement() stmt {
	p.enter()
	defer func() { p.level-- }()
	switch p.tok {
	case tLbrace:
		return &blockStmt{p.block()}
	case tIf:
		return p.ifStmt()
	case tWhile:
		p.next()
		p.expect(tLparen)
		c := p.expr()
		p.expect(tRparen)
		if p.tok == tSemi {
			p.next()
			return &whileStmt{cond: c}
		}
		return &whileStmt{cond: c, body: p.loopBody()}
	case tDo:
		p.next()
		b := p.loopBody()
		p.skipTerminators()
		p.expect(tWhile)
		p.expect(tLparen)
		c := p.expr()
		p.expect(tRparen)
		p.endSimple()
		return &doStmt{body: b, cond: c}
	case tFor:
		return p.forStmt()
	case tSwitch:
		return p.switchStmt()
	case tSemi:
		p.next()
		return &blockStmt{}
	}
	s := p.simple()
	p.endSimple()
	return s
}

func (p *parser) ifStmt() stmt {
	p.next()
	p.expect(tLparen)
	s := &ifStmt{cond: p.expr()}
	p.expect(tRparen)
	s.then = p.body()
	// An else may follow after terminators; put them back when it does not.
	save := p.lexer
	p.skipTerminators()
	if p.tok != tElse {
		p.lexer = save
		return s
	}
	p.next()
	s.hasElse = true
	s.alt = p.body()
	return s
}

func (p *parser) forStmt() stmt {
	p.next()
	p.expect(tLparen)
	if p.tok == tName {
		save := p.lexer
		name, pos := p.text, p.start
		p.next()
		if p.tok == tIn {
			p.next()
			if p.tok == tName {
				arr, apos := p.text, p.start
				p.next()
				var ref expr
				switch p.tok {
				case tRparen:
					ref = p.array(arr, apos)
				case tLbracket:
					ref = p.index(arr, apos)
				}
				if ref != nil && p.tok == tRparen {
					p.next()
					v := p.scalar(name, pos)
					return &forInStmt{v: v, arr: ref, body: p.loopBody()}
				}
			}
		}
		p.lexer = save
	}
	s := &forStmt{}
	if p.tok != tSemi {
		s.init = p.simple()
	}
	p.expect(tSemi)
	p.skipNewlines()
	if p.tok != tSemi {
		s.cond = p.expr()
	}
	p.expect(tSemi)
	p.skipNewlines()
	if p.tok != tRparen {
		s.post = p.simple()
	}
	p.expect(tRparen)
	if p.tok == tSemi {
		p.next()
		return s
	}
	s.body = p.loopBody()
	return s
}

func (p *parser) switchStmt() stmt {
	p.next()
	p.expect(tLparen)
	s := &switchStmt{x: p.expr()}
	p.expect(tRparen)
	p.skipNewlines()
	p.expect(tLbrace)
	p.skipTerminators()
	p.inSwtch++
	defer func() { p.inSwtch-- }()
	for p.tok != tRbrace {
		var c switchCase
		switch p.tok {
		case tCase:
			p.next()
			switch p.tok {
			case tSlash, tDivAssign:
				p.regex()
				c.x = p.regexLit()
				p.next()
			case tString:
				c.x = &strLit{node{1}, p.text}
				p.next()
			case tMinus, tPlus:
				neg := p.tok == tMinus
				p.next()
				if p.tok != tNumber {
					p.syntaxError()
				}
				v := p.num
				if neg {
					v = -v
				}
				c.x = &numLit{node{1}, v}
				p.next()
			case tNumber:
				c.x = &numLit{node{1}, p.num}
				p.next()
			default:
				p.syntaxError()
			}
		case tDefault:
			c.isDefault = true
			p.next()
		default:
			p.syntaxError()
		}
		p.expect(tColon)
		p.skipTerminators()
		for p.tok != tCase && p.tok != tDefault && p.tok != tRbrace {
			if p.tok == tEOF {
				p.syntaxError()
			}
			c.body = append(c.body, p.stmt())
			p.skipTerminators()
		}
		s.cases = append(s.cases, c)
	}
	p.next()
	return s
}

func (p *parser) simple() stmt {
	switch p.tok {
	case tPrint, tPrintf:
		return p.printStmt()
	case tBreak:
		if p.inLoop == 0 && p.inSwtch == 0 {
			p.fail("error: `break' is not allowed outside a loop or switch")
		}
		p.next()
		return &breakStmt{}
	case tContinue:
		if p.inLoop == 0 {
			p.fail("error: `continue' is not allowed outside a loop")
		}
		p.next()
		return &continueStmt{}
	case tNext:
		p.mainOnly("next", p.ruleKind != ruleMain)
		p.next()
		return &nextStmt{}
	case tNextFile:
		p.mainOnly("nextfile", p.ruleKind == ruleBegin || p.ruleKind == ruleEnd || p.ruleKind == ruleEndFile)
		p.next()
		return &nextFileStmt{}
	case tExit:
		p.next()
		s := &exitStmt{}
		if !p.atEnd() {
			s.status = p.expr()
		}
		return s
	case tReturn:
		if p.fn == nil {
			p.fail("`return' used outside function context")
		}
		p.next()
		s := &returnStmt{}
		if !p.atEnd() {
			s.x = p.expr()
		}
		return s
	case tDelete:
		p.next()
		paren := p.tok == tLparen
		if paren {
			p.next()
		}
		if p.tok != tName {
			p.syntaxError()
		}
		name, pos := p.text, p.start
		p.next()
		s := &deleteStmt{}
		if p.tok == tLbracket {
			ix := p.index(name, pos)
			s.subs = ix.subs
			if ix.base != nil {
				s.arr = ix.base
			} else {
				s.arr = ix.arr
			}
		} else {
			s.arr = p.array(name, pos)
		}
		if paren {
			p.expect(tRparen)
		}
		return s
	}
	return &exprStmt{p.expr()}
}

// mainOnly refuses a statement in rules where it has no meaning.
func (p *parser) mainOnly(what string, bad bool) {
	if !bad || p.fn != nil {
		return
	}
	name := map[ruleKind]string{ruleBegin: "BEGIN", ruleEnd: "END", ruleBeginFile: "BEGINFILE", ruleEndFile: "ENDFILE"}[p.ruleKind]
	p.fail("error: `%s' used in %s action", what, name)
}

func (p *parser) atEnd() bool {
	return p.tok == tSemi || p.tok == tNewline || p.tok == tRbrace || p.tok == tEOF
}

func (p *parser) printStmt() stmt {
	s := &printStmt{printf: p.tok == tPrintf}
	p.next()
	saved := p.noGt
	p.noGt = true
	if !p.atEnd() && p.tok != tGt && p.tok != tAppend && p.tok != tPipe && p.tok != tPipeAmp {
		s.args = p.exprList()
		if g, ok := s.args[0].(*group); ok && len(s.args) == 1 {
			s.args = g.list
		}
	}
	switch p.tok {
	case tGt, tAppend, tPipe, tPipeAmp:
		s.redir = p.tok
		p.next()
		s.dest = p.concat()
	}
	p.noGt = saved
	for _, a := range s.args {
		p.noGroup(a)
	}
	if s.printf && len(s.args) == 0 {
		p.fail("fatal: printf: no arguments")
	}
	return s
}

// noGroup refuses (a, b) where one value is needed.
func (p *parser) noGroup(e expr) {
	if g, ok := e.(*group); ok && len(g.list) != 1 {
		p.fail("syntax error")
	}
}

func (p *parser) exprList() []expr {
	list := []expr{p.expr()}
	for p.tok == tComma {
		p.next()
		p.skipNewlines()
		list = append(list, p.expr())
	}
	return list
}

func (p *parser) expr() expr {
	p.enter()
	e := p.ternary()
	p.level--
	return p.check(e)
}

func isLvalue(e expr) bool {
	switch e.(type) {
	case *varRef, *fieldRef, *indexRef:
		return true
	}
	return false
}

func (p *parser) ternary() expr {
	e := p.or()
	switch p.tok {
	case tQuestion:
		p.noGroup(e)
		p.next()
		p.skipNewlines()
		t := p.expr()
		p.skipNewlines()
		p.expect(tColon)
		p.skipNewlines()
		f := p.expr()
		return &ternary{over(e, t, f), e, t, f}
	case tAssign, tAddAssign, tSubAssign, tMulAssign, tDivAssign, tModAssign, tPowAssign:
		return p.assignTo(e)
	}
	return e
}

// assignTo parses the rest of an assignment. The left side may be the last operand of a
// binary operator (`1 + x = 2`, `a && b = c`): the grammar then assigns to that operand.
func (p *parser) assignTo(e expr) expr {
	if b, ok := e.(*binary); ok {
		r := p.assignTo(b.r)
		return &binary{over(b.l, r), b.op, b.l, r}
	}
	if c, ok := e.(*concat); ok {
		last := p.assignTo(c.parts[len(c.parts)-1])
		parts := append(c.parts[:len(c.parts)-1:len(c.parts)-1], last)
		return &concat{over(parts...), parts}
	}
	if u, ok := e.(*unary); ok {
		x := p.assignTo(u.x)
		return &unary{over(x), u.op, x}
	}
	if !isLvalue(e) {
		p.syntaxError()
	}
	op := p.tok
	p.next()
	p.skipNewlines()
	from := p.expr()
	p.noGroup(from)
	return &assign{over(e, from), op, e, from}
}

func (p *parser) or() expr {
	e := p.and()
	for p.tok == tOr {
		p.noGroup(e)
		p.next()
		p.skipNewlines()
		r := p.and()
		e = p.check(&binary{over(e, r), tOr, e, r})
	}
	return e
}

func (p *parser) and() expr {
	e := p.in()
	for p.tok == tAnd {
		p.noGroup(e)
		p.next()
		p.skipNewlines()
		r := p.in()
		e = p.check(&binary{over(e, r), tAnd, e, r})
	}
	return e
}

func (p *parser) in() expr {
	e := p.match()
	for p.tok == tIn {
		p.next()
		if p.tok != tName {
			p.syntaxError()
		}
		name, pos := p.text, p.start
		p.next()
		subs := []expr{e}
		if g, ok := e.(*group); ok {
			subs = g.list
		}
		var arr expr
		if p.tok == tLbracket {
			arr = p.index(name, pos)
		} else {
			arr = p.array(name, pos)
		}
		e = p.check(&inExpr{over(subs...), subs, arr})
	}
	return e
}

func (p *parser) match() expr {
	e := p.comparison()
	for p.tok == tTilde || p.tok == tNoMatch {
		op := p.tok
		p.noGroup(e)
		p.next()
		r := p.comparison()
		e = p.check(&binary{over(e, r), op, e, r})
	}
	return e
}

func (p *parser) comparison() expr {
	e := p.concat()
	for {
		switch p.tok {
		case tGt:
			if p.noGt {
				return e
			}
		case tLt, tLe, tGe, tEq, tNe:
		case tPipe, tPipeAmp:
			piped := p.pipeGetline(e)
			if piped == nil {
				return e
			}
			e = piped
			continue
		default:
			return e
		}
		op := p.tok
		p.noGroup(e)
		p.next()
		r := p.concat()
		e = p.check(&binary{over(e, r), op, e, r})
	}
}

// pipeGetline parses `| getline [lvalue]` after e, nil when something else follows the bar.
func (p *parser) pipeGetline(e expr) expr {
	save := p.lexer
	kind := getCmd
	if p.tok == tPipeAmp {
		kind = getCoproc
	}
	p.next()
	if p.tok != tGetline {
		p.lexer = save
		return nil
	}
	p.next()
	to := p.optLvalue()
	return p.check(&getline{over(e, to), kind, e, to})
}

// optLvalue parses the variable after getline, if there is one.
func (p *parser) optLvalue() expr {
	switch p.tok {
	case tDollar:
		return p.fieldRef()
	case tName:
		return p.nameRef()
	}
	return nil
}

// startsOperand reports whether the current token continues a concatenation.
func (p *parser) startsOperand() bool {
	switch p.tok {
	case tNumber, tString, tName, tFuncName, tBuiltin, tDollar, tNot, tLparen, tMinus, tPlus, tIncr, tDecr, tAt:
		return true
	}
	return false
}

func (p *parser) concat() expr {
	e := p.additive()
	var parts []expr
	for p.startsOperand() {
		p.noGroup(e)
		if parts == nil {
			parts = []expr{e}
		}
		parts = append(parts, p.additive())
	}
	if parts == nil {
		return e
	}
	return p.check(&concat{over(parts...), parts})
}

func (p *parser) additive() expr {
	e := p.multiplicative()
	for p.tok == tPlus || p.tok == tMinus {
		op := p.tok
		p.noGroup(e)
		p.next()
		r := p.multiplicative()
		e = p.check(&binary{over(e, r), op, e, r})
	}
	return e
}

func (p *parser) multiplicative() expr {
	e := p.unary()
	for p.tok == tStar || p.tok == tSlash || p.tok == tPercent {
		op := p.tok
		p.noGroup(e)
		p.next()
		r := p.unary()
		if k, ok := r.(*numLit); ok && k.v == 0 && op != tStar {
			p.fail("error: division by zero attempted%s", map[token]string{tPercent: " in `%'"}[op])
		}
		e = p.check(&binary{over(e, r), op, e, r})
	}
	return e
}

func (p *parser) unary() expr {
	switch p.tok {
	case tNot, tMinus, tPlus:
		p.enter()
		defer func() { p.level-- }()
		op := p.tok
		p.next()
		x := p.unary()
		p.noGroup(x)
		return p.check(&unary{over(x), op, x})
	}
	return p.power()
}

func (p *parser) power() expr {
	e := p.postfix()
	if p.tok != tCaret {
		return e
	}
	p.enter()
	defer func() { p.level-- }()
	p.next()
	var r expr
	switch p.tok {
	case tMinus, tPlus, tNot:
		op := p.tok
		p.next()
		x := p.powerOperand()
		r = &unary{over(x), op, x}
	default:
		r = p.power()
	}
	return p.check(&binary{over(e, r), tCaret, e, r})
}

// powerOperand is what a sign after ^ applies to: 2^-3^2 is 2^(-(3^2)).
func (p *parser) powerOperand() expr {
	if p.tok == tMinus || p.tok == tPlus || p.tok == tNot {
		p.enter()
		defer func() { p.level-- }()
		op := p.tok
		p.next()
		x := p.powerOperand()
		return p.check(&unary{over(x), op, x})
	}
	return p.power()
}

func (p *parser) postfix() expr {
	e := p.primary()
	if (p.tok == tIncr || p.tok == tDecr) && isLvalue(e) {
		delta := 1.0
		if p.tok == tDecr {
			delta = -1
		}
		p.next()
		return &incdec{over(e), e, delta, false}
	}
	return e
}

func (p *parser) fieldRef() expr {
	p.enter()
	defer func() { p.level-- }()
	p.next() // $
	var idx expr
	switch p.tok {
	case tIncr, tDecr:
		idx = p.preIncr()
	case tMinus, tPlus, tNot:
		op := p.tok
		p.next()
		x := p.fieldOperand()
		idx = &unary{over(x), op, x}
	default:
		idx = p.primary()
	}
	p.noGroup(idx)
	return p.check(&fieldRef{over(idx), idx})
}

func (p *parser) fieldOperand() expr {
	if p.tok == tMinus || p.tok == tPlus || p.tok == tNot {
		p.enter()
		defer func() { p.level-- }()
		op := p.tok
		p.next()
		x := p.fieldOperand()
		return p.check(&unary{over(x), op, x})
	}
	return p.primary()
}

func (p *parser) preIncr() expr {
	delta := 1.0
	if p.tok == tDecr {
		delta = -1
	}
	p.next()
	var e expr
	switch p.tok {
	case tDollar:
		e = p.fieldRef()
	case tName:
		e = p.nameRef()
	case tLparen: // ++(x): accepted by every awk
		e = p.primary()
		if g, ok := e.(*group); ok && len(g.list) == 1 {
			e = g.list[0]
		}
	}
	if e == nil || !isLvalue(e) {
		p.syntaxError()
	}
	return p.check(&incdec{over(e), e, delta, true})
}

func (p *parser) primary() expr {
	switch p.tok {
	case tNumber:
		e := &numLit{node{1}, p.num}
		p.next()
		return e
	case tString:
		e := &strLit{node{1}, p.text}
		p.next()
		return e
	case tSlash, tDivAssign:
		p.regex()
		e := p.regexLit()
		p.next()
		return e
	case tDollar:
		return p.fieldRef()
	case tIncr, tDecr:
		return p.preIncr()
	case tNot, tMinus, tPlus:
		return p.unary()
	case tLparen:
		return p.paren()
	case tName:
		return p.nameRef()
	case tFuncName:
		return p.call()
	case tBuiltin:
		return p.builtin()
	case tGetline:
		p.next()
		g := &getline{kind: getMain}
		g.to = p.optLvalue()
		if p.tok == tLt {
			p.next()
			g.kind = getFile
			g.src = p.postfixOperand()
		}
		g.node = over(g.to, g.src)
		return p.check(g)
	case tAt:
		p.next()
		switch p.tok {
		case tSlash, tDivAssign: // @/re/, a strongly typed regexp
			p.regex()
			e := &strLit{node{1}, p.text}
			p.next()
			return e
		case tFuncName:
			c := &call{pos: p.start, dyn: p.scalar(p.text, p.start)}
			p.next()
			c.args = p.args()
			c.node = over(c.args...)
			p.calls = append(p.calls, c)
			return p.check(c)
		}
	}
	p.syntaxError()
	return nil
}

// postfixOperand is the file of `getline <`: no concatenation, no operators.
func (p *parser) postfixOperand() expr {
	e := p.postfix()
	p.noGroup(e)
	return e
}

func (p *parser) paren() expr {
	p.enter()
	defer func() { p.level-- }()
	noGt := p.noGt
	p.noGt = false
	p.next()
	list := []expr{p.expr()}
	p.skipNewlines()
	for p.tok == tComma {
		p.next()
		p.skipNewlines()
		list = append(list, p.expr())
		p.skipNewlines()
	}
	p.noGt = noGt
	p.expect(tRparen)
	if len(list) > 1 {
		for _, e := range list {
			p.noGroup(e)
		}
		if p.tok != tIn && !p.noGt {
			p.syntaxError()
		}
	} else {
		p.noGroup(list[0])
	}
	return &group{over(list...), list}
}

func (p *parser) args() []expr {
	noGt := p.noGt
	p.noGt = false
	p.expect(tLparen)
	p.skipNewlines()
	var args []expr
	for p.tok != tRparen {
		e := p.expr()
		p.noGroup(e)
		args = append(args, e)
		p.skipNewlines()
		if p.tok == tComma {
			p.next()
			p.skipNewlines()
			if p.tok == tRparen {
				p.syntaxError()
			}
		} else if p.tok != tRparen {
			p.syntaxError()
		}
	}
	p.noGt = noGt
	p.next()
	return args
}

func (p *parser) call() expr {
	c := &call{name: p.text, pos: p.start}
	p.next()
	c.args = p.args()
	c.node = over(c.args...)
	c.fn = p.funcNamed(c.name)
	p.calls = append(p.calls, c)
	return p.check(c)
}

// newRef makes a reference; its scope is settled by resolve.
func (p *parser) newRef(name string, pos int) *varRef {
	v := &varRef{node: node{1}, name: name, pos: pos, fn: p.fn}
	if p.fn != nil {
		for i, param := range p.fn.params {
			if param == name {
				v.scope, v.slot = scopeLocal, i
				p.refs = append(p.refs, v)
				return v
			}
		}
	}
	v.fn = nil
	if n, ok := specials[name]; ok {
		v.scope, v.slot = scopeSpecial, n
		return v
	}
	s := p.globals[name]
	if s == nil {
		s = &symbol{name: name, pos: pos}
		p.globals[name] = s
	}
	v.scope = scopeGlobal
	p.refs = append(p.refs, v)
	return v
}

func (p *parser) scalar(name string, pos int) *varRef {
	v := p.newRef(name, pos)
	p.mark(v, false)
	return v
}

func (p *parser) array(name string, pos int) *varRef {
	v := p.newRef(name, pos)
	p.mark(v, true)
	return v
}

// mark records how a variable is used.
func (p *parser) mark(v *varRef, array bool) (changed bool) {
	conflict := false
	switch v.scope {
	case scopeSpecial:
		conflict = array
	case scopeLocal:
		if v.fn.used[v.slot] {
			conflict = v.fn.isArray[v.slot] != array
		} else {
			v.fn.used[v.slot], v.fn.isArray[v.slot] = true, array
			changed = true
		}
	case scopeGlobal:
		s := p.globals[v.name]
		changed = array && !s.array || !array && !s.scalar
		if array {
			s.array = true
		} else {
			s.scalar = true
		}
		conflict = s.array && s.scalar
	}
	if conflict {
		if array {
			panic(p.errorAt(v.pos, "fatal: attempt to use scalar `%s' as an array", v.name))
		}
		panic(p.errorAt(v.pos, "fatal: attempt to use array `%s' in a scalar context", v.name))
	}
	return changed
}

func (p *parser) index(name string, pos int) *indexRef {
	ix := &indexRef{arr: p.array(name, pos)}
	for {
		noGt := p.noGt
		p.noGt = false
		p.expect(tLbracket)
		ix.subs = p.exprList()
		p.noGt = noGt
		p.expect(tRbracket)
		for _, e := range ix.subs {
			p.noGroup(e)
		}
		ix.node = over(append(ix.subs, ix.base0())...)
		p.check(ix)
		if p.tok != tLbracket {
			return ix
		}
		ix = &indexRef{base: ix}
	}
}

// base0 is the array expression below ix, for measuring its height.
func (ix *indexRef) base0() expr {
	if ix.base != nil {
		return ix.base
	}
	return ix.arr
}

// nameRef parses a variable or an element; a bare name's kind stays open when it is an argument.
func (p *parser) nameRef() expr {
	name, pos := p.text, p.start
	p.next()
	if p.tok == tLbracket {
		return p.index(name, pos)
	}
	if f := p.funcs[name]; f != nil && f.defined && !p.isParam(name) {
		panic(p.errorAt(pos, "function `%s' called with space between name and `('\nor used as a variable or an array", name))
	}
	return p.newRef(name, pos)
}

func (p *parser) isParam(name string) bool {
	if p.fn == nil {
		return false
	}
	for _, param := range p.fn.params {
		if param == name {
			return true
		}
	}
	return false
}

func (p *parser) builtin() expr {
	c := &builtinCall{fn: p.bi, pos: p.start}
	info := builtinTable[c.fn]
	p.next()
	end := c.pos
	if p.tok == tLparen {
		c.args = p.args()
		end = p.previous
	} else if c.fn != fLength {
		p.syntaxError()
	}
	if n := len(c.args); n < info.min || n > info.max {
		panic(p.errorAt(end, "%d is invalid as number of arguments for %s", n, info.name))
	}
	for i, a := range c.args {
		if strings.IndexByte(info.arrays, byte('0'+i)) < 0 {
			continue
		}
		switch a := a.(type) {
		case *varRef:
			p.mark(a, true)
		case *indexRef:
		default:
			panic(p.errorAt(c.pos, "fatal: %s: argument %d is not an array", info.name, i+1))
		}
	}
	if (c.fn == fSub || c.fn == fGsub) && len(c.args) == 3 && !isLvalue(c.args[2]) {
		// The result is lost, as in every awk; the count is not.
		c.args[2] = &group{over(c.args[2]), []expr{c.args[2]}}
	}
	c.node = over(c.args...)
	return p.check(c)
}

// resolve settles the kind of every variable and checks the calls.
func (p *parser) resolve() {
	for _, c := range p.calls {
		if c.fn != nil && !c.fn.defined {
			panic(&SyntaxError{Source: p.name, Line: 1, Msg: fmt.Sprintf("fatal: function `%s' not defined", c.name)})
		}
		if c.fn != nil && len(c.args) > len(c.fn.params) {
			panic(&SyntaxError{Source: p.name, Line: 1, Msg: fmt.Sprintf("fatal: function `%s' called with more arguments than declared", c.name)})
		}
		for i, a := range c.args {
			if g, ok := a.(*group); ok && len(g.list) == 1 {
				if v, ok := g.list[0].(*varRef); ok {
					a = v
				}
			}
			if v, ok := a.(*varRef); ok && v.scope != scopeSpecial && c.fn != nil {
				p.edges = append(p.edges, edge{v, c.fn, i})
			}
		}
	}
	p.propagate()
	for name, s := range p.globals {
		if f := p.funcs[name]; f != nil && f.defined {
			panic(p.errorAt(s.pos, "function `%s' used as a variable", name))
		}
	}
}

// place is a variable or parameter as the key of a map.
type place struct {
	fn   *function // nil: the global called name
	name string
	slot int
}

func placeOf(v *varRef) place {
	if v.scope == scopeLocal {
		return place{fn: v.fn, slot: v.slot}
	}
	return place{name: v.name}
}

// propagate carries "is an array" along the calls, in both directions, each edge at most twice.
func (p *parser) propagate() {
	near := map[place][]int{}
	var work []int
	for i, e := range p.edges {
		from, to := placeOf(e.v), place{fn: e.fn, slot: e.i}
		near[from] = append(near[from], i)
		near[to] = append(near[to], i)
		work = append(work, i)
	}
	for len(work) > 0 {
		e := p.edges[work[len(work)-1]]
		work = work[:len(work)-1]
		switch {
		case p.isArrayRef(e.v):
			if !e.fn.used[e.i] {
				e.fn.used[e.i], e.fn.isArray[e.i] = true, true
				work = append(work, near[place{fn: e.fn, slot: e.i}]...)
			}
		case e.fn.isArray[e.i]:
			if p.mark(e.v, true) {
				work = append(work, near[placeOf(e.v)]...)
			}
		}
	}
}

func (p *parser) isArrayRef(v *varRef) bool {
	if v.scope == scopeLocal {
		return v.fn.isArray[v.slot]
	}
	return v.scope == scopeGlobal && p.globals[v.name].array
}
