package awk

import (
	"math"
	"strings"
)

// ctl is how a statement ended.
type ctl uint8

const (
	ctlNone ctl = iota
	ctlBreak
	ctlContinue
	ctlNext
	ctlNextFile
	ctlExit
	ctlReturn
)

// The compiled forms of code. An expression compiles to the form its context wants,
// so that `s += $3` never makes a string and `if (a < b)` never makes a value.
type (
	block func(in *interp) ctl
	valFn func(in *interp) value
	numFn func(in *interp) float64
	strFn func(in *interp) string
	boolF func(in *interp) bool
	arrFn func(in *interp) *array
	ptrFn func(in *interp) *value
)

type compiledRule struct {
	pattern boolF // nil: always
	to      boolF // range end
	rng     int   // its slot in interp.ranges
	body    block
}

type compiler struct {
	*parser
	prog *Program
}

func (p *parser) compile() *Program {
	prog := &Program{globals: p.globals, funcs: p.funcs}
	for _, name := range []string{"ENVIRON", "ARGV", "PROCINFO"} {
		s := p.globals[name]
		if s == nil {
			s = &symbol{name: name}
			p.globals[name] = s
		}
		if s.scalar {
			panic(p.errorAt(s.pos, "fatal: attempt to use array `%s' in a scalar context", name))
		}
		s.array = true
	}
	if p.globals["ARGC"] == nil {
		p.globals["ARGC"] = &symbol{name: "ARGC"}
	}
	for _, s := range p.globals {
		if s.array {
			s.slot = prog.nArrays
			prog.nArrays++
			prog.arrayNames = append(prog.arrayNames, s.name)
		} else {
			s.slot = prog.nScalars
			prog.nScalars++
			prog.scalarNames = append(prog.scalarNames, s.name)
		}
	}
	c := &compiler{p, prog}
	for _, f := range p.fnOrder {
		f.weight = 8 + c.weigh(f.body)
		f.code = c.stmts(f.body)
	}
	for i := range p.rules {
		r := &p.rules[i]
		body := c.stmts(r.body)
		switch r.kind {
		case ruleBegin:
			prog.begin = append(prog.begin, body)
		case ruleEnd:
			prog.end = append(prog.end, body)
			prog.readsMain = true
		case ruleBeginFile:
			prog.beginFile = append(prog.beginFile, body)
			prog.readsMain = true
		case ruleEndFile:
			prog.endFile = append(prog.endFile, body)
			prog.readsMain = true
		default:
			prog.readsMain = true
			cr := compiledRule{body: body}
			if r.noBody {
				cr.body = func(in *interp) ctl {
					in.out.WriteString(in.record())
					in.out.WriteString(in.ors)
					return ctlNone
				}
			}
			if r.pattern != nil {
				cond, at := c.cond(r.pattern), c.places[r.pattern]
				cr.pattern = cond
				if len(c.places) > 0 {
					cr.pattern = func(in *interp) bool {
						in.at = at
						return cond(in)
					}
				}
			}
			if r.to != nil {
				cr.to = c.cond(r.to)
				cr.rng = prog.nRanges
				prog.nRanges++
			}
			prog.rules = append(prog.rules, cr)
		}
	}
	return prog
}

// weigh is how much of the Go stack a body may use, in closures.
func (c *compiler) weigh(body []stmt) int {
	h := 0
	see := func(e expr) {
		if e != nil {
			h = max(h, e.depth())
		}
	}
	sub := func(b []stmt) { h = max(h, 1+c.weigh(b)) }
	for _, s := range body {
		switch s := s.(type) {
		case *exprStmt:
			see(s.x)
		case *printStmt:
			for _, a := range s.args {
				see(a)
			}
			see(s.dest)
		case *ifStmt:
			see(s.cond)
			sub(s.then)
			sub(s.alt)
		case *whileStmt:
			see(s.cond)
			sub(s.body)
		case *doStmt:
			see(s.cond)
			sub(s.body)
		case *forStmt:
			see(s.cond)
			sub(s.body)
			sub([]stmt{s.init, s.post})
		case *forInStmt:
			see(s.v)
			sub(s.body)
		case *switchStmt:
			see(s.x)
			for _, k := range s.cases {
				sub(k.body)
			}
		case *blockStmt:
			sub(s.body)
		case *exitStmt:
			see(s.status)
		case *returnStmt:
			see(s.x)
		case *deleteStmt:
			for _, a := range s.subs {
				see(a)
			}
		}
	}
	return h
}

func (c *compiler) stmts(list []stmt) block {
	var code []block
	for _, s := range list {
		if s == nil {
			continue
		}
		if b, ok := s.(*blockStmt); ok && len(b.body) == 0 {
			continue
		}
		code = append(code, c.stmt(s))
	}
	switch len(code) {
	case 0:
		return func(*interp) ctl { return ctlNone }
	case 1:
		return code[0]
	case 2:
		a, b := code[0], code[1]
		return func(in *interp) ctl {
			if r := a(in); r != ctlNone {
				return r
			}
			return b(in)
		}
	}
	return func(in *interp) ctl {
		for _, f := range code {
			if r := f(in); r != ctlNone {
				return r
			}
		}
		return ctlNone
	}
}

// stmt compiles a statement. In a program of more than one line, what runs says where it is.
func (c *compiler) stmt(s stmt) block {
	code := c.statement(s)
	if len(c.places) == 0 {
		return code
	}
	if _, ok := s.(*blockStmt); ok {
		return code
	}
	at := c.places[s]
	return func(in *interp) ctl {
		in.at = at
		return code(in)
	}
}

func (c *compiler) statement(s stmt) block {
	switch s := s.(type) {
	case *exprStmt:
		return c.effect(s.x)
	case *printStmt:
		return c.print(s)
	case *blockStmt:
		return c.stmts(s.body)
	case *ifStmt:
		cond, then := c.cond(s.cond), c.stmts(s.then)
		if !s.hasElse {
			return func(in *interp) ctl {
				if cond(in) {
					return then(in)
				}
				return ctlNone
			}
		}
		alt := c.stmts(s.alt)
		return func(in *interp) ctl {
			if cond(in) {
				return then(in)
			}
			return alt(in)
		}
	case *whileStmt:
		cond, body := c.cond(s.cond), c.stmts(s.body)
		return func(in *interp) ctl {
			for cond(in) {
				in.p.Tick(1)
				if r := body(in); r > ctlContinue {
					return r
				} else if r == ctlBreak {
					break
				}
			}
			return ctlNone
		}
	case *doStmt:
		cond, body := c.cond(s.cond), c.stmts(s.body)
		return func(in *interp) ctl {
			for {
				in.p.Tick(1)
				if r := body(in); r > ctlContinue {
					return r
				} else if r == ctlBreak {
					break
				}
				if !cond(in) {
					break
				}
			}
			return ctlNone
		}
	case *forStmt:
		cond := func(*interp) bool { return true }
		if s.cond != nil {
			cond = c.cond(s.cond)
		}
		init, post, body := c.stmts([]stmt{s.init}), c.stmts([]stmt{s.post}), c.stmts(s.body)
		return func(in *interp) ctl {
			if r := init(in); r != ctlNone {
				return r
			}
			for cond(in) {
				in.p.Tick(1)
				if r := body(in); r > ctlContinue {
					return r
				} else if r == ctlBreak {
					break
				}
				if r := post(in); r != ctlNone {
					return r
				}
			}
			return ctlNone
		}
	case *forInStmt:
		return c.forIn(s)
	case *switchStmt:
		return c.switchCode(s)
	case *breakStmt:
		return func(*interp) ctl { return ctlBreak }
	case *continueStmt:
		return func(*interp) ctl { return ctlContinue }
	case *nextStmt:
		return func(in *interp) ctl {
			if !in.inMain {
				in.fatal("`next' cannot be called from a `%s' rule", in.rule)
			}
			return ctlNext
		}
	case *nextFileStmt:
		return func(in *interp) ctl {
			if !in.inMain && !in.inBeginFile {
				in.fatal("`nextfile' cannot be called from a `%s' rule", in.rule)
			}
			return ctlNextFile
		}
	case *exitStmt:
		if s.status == nil {
			return func(*interp) ctl { return ctlExit }
		}
		status := c.num(s.status)
		return func(in *interp) ctl {
			in.status = clampInt(status(in)) & 0xff
			return ctlExit
		}
	case *returnStmt:
		if s.x == nil {
			return func(in *interp) ctl {
				in.ret = value{}
				return ctlReturn
			}
		}
		x := c.val(s.x)
		return func(in *interp) ctl {
			in.ret = x(in)
			return ctlReturn
		}
	case *deleteStmt:
		arr := c.arr(s.arr)
		if s.subs == nil {
			return func(in *interp) ctl {
				in.clear(arr(in))
				return ctlNone
			}
		}
		key := c.subscript(s.subs)
		return func(in *interp) ctl {
			a := arr(in)
			in.remove(a, key(in))
			return ctlNone
		}
	}
	panic("awk: unknown statement")
}

func (c *compiler) forIn(s *forInStmt) block {
	set := c.setter(s.v)
	arr, body := c.arr(s.arr), c.stmts(s.body)
	return func(in *interp) ctl {
		a := arr(in)
		keys := in.forKeys(a)
		held := len(keys) * 16
		in.hold(held)
		defer in.hold(-held)
		for _, k := range keys {
			in.p.Tick(1)
			set(in, value{s: k, k: kInput})
			if r := body(in); r > ctlContinue {
				return r
			} else if r == ctlBreak {
				break
			}
		}
		return ctlNone
	}
}

func (c *compiler) switchCode(s *switchStmt) block {
	x := c.val(s.x)
	type arm struct {
		match func(in *interp, v *value) bool
		body  block
	}
	var arms []arm
	def := -1
	for i, k := range s.cases {
		a := arm{body: c.stmts(k.body)}
		switch k := k.x.(type) {
		case *numLit:
			a.match = func(in *interp, v *value) bool {
				if v.k == kInput {
					v.settle()
				}
				return v.k != kStr && v.n == k.v
			}
		case *strLit:
			a.match = func(in *interp, v *value) bool {
				if v.k == kInput {
					v.settle()
				}
				return (v.k == kStr || v.k == kStrnum) && v.s == k.s
			}
		case *regexLit:
			a.match = func(in *interp, v *value) bool { return in.regexOf(k.src).match(in.str(*v)) }
		default:
			def = i
			a.match = func(*interp, *value) bool { return false }
		}
		arms = append(arms, a)
	}
	return func(in *interp) ctl {
		v := x(in)
		from := def
		for i := range arms {
			if arms[i].match(in, &v) {
				from = i
				break
			}
		}
		if from < 0 {
			return ctlNone
		}
		for ; from < len(arms); from++ {
			if r := arms[from].body(in); r == ctlBreak {
				break
			} else if r != ctlNone {
				return r
			}
		}
		return ctlNone
	}
}

// effect compiles an expression whose value nobody wants.
func (c *compiler) effect(e expr) block {
	switch e := e.(type) {
	case *group:
		if len(e.list) == 1 {
			return c.effect(e.list[0])
		}
	case *incdec:
		if ptr := c.ptr(e.to); ptr != nil {
			d := e.delta
			return func(in *interp) ctl {
				v := ptr(in)
				if v.k == kNum {
					v.n += d
				} else {
					in.store(v, num(v.num()+d))
				}
				return ctlNone
			}
		}
	case *assign:
		if ptr := c.ptr(e.to); ptr != nil && e.op == tAddAssign {
			from := c.num(e.from)
			return func(in *interp) ctl {
				f := from(in)
				v := ptr(in)
				if v.k == kNum {
					v.n += f
				} else {
					in.store(v, num(v.num()+f))
				}
				return ctlNone
			}
		}
	case *binary:
		if e.op != tAnd && e.op != tOr {
			break
		}
		f := c.cond(e)
		return func(in *interp) ctl {
			f(in)
			return ctlNone
		}
	}
	f := c.val(e)
	return func(in *interp) ctl {
		f(in)
		return ctlNone
	}
}

// ptr compiles an lvalue that is plain memory; nil for fields and special variables.
func (c *compiler) ptr(e expr) ptrFn {
	switch e := e.(type) {
	case *varRef:
		c.wantScalar(e)
		switch e.scope {
		case scopeGlobal:
			slot := c.globals[e.name].slot
			return func(in *interp) *value { return &in.globals[slot] }
		case scopeLocal:
			slot := e.slot
			return func(in *interp) *value { return &in.frame.vals[slot] }
		}
	case *group:
		if len(e.list) == 1 && isLvalue(e.list[0]) {
			return c.ptr(e.list[0])
		}
	case *indexRef:
		cell := c.cell(e)
		return func(in *interp) *value { return &cell(in).v }
	}
	return nil
}

func (c *compiler) wantScalar(v *varRef) {
	if c.isArrayRef(v) {
		panic(c.errorAt(v.pos, "fatal: attempt to use array `%s' in a scalar context", v.name))
	}
}

// arr compiles a reference to an array.
func (c *compiler) arr(e expr) arrFn {
	switch e := e.(type) {
	case *varRef:
		if e.scope == scopeLocal {
			slot := e.slot
			return func(in *interp) *array { return in.localArray(slot) }
		}
		slot := c.globals[e.name].slot
		return func(in *interp) *array { return in.arrays[slot] }
	case *indexRef:
		cell := c.cell(e)
		return func(in *interp) *array {
			k := cell(in)
			if k.sub == nil {
				if k.v.k != kUninit {
					in.fatal("attempt to use scalar element as an array")
				}
				k.sub = newArray()
			}
			return k.sub
		}
	}
	panic("awk: not an array")
}

// cell compiles a reference to an element, which it makes when there is none.
func (c *compiler) cell(e *indexRef) func(in *interp) *cell {
	var arr arrFn
	if e.base != nil {
		arr = c.arr(e.base)
	} else {
		arr = c.arr(e.arr)
	}
	if len(e.subs) == 1 {
		if lit, ok := unparen(e.subs[0]).(*strLit); ok {
			key := lit.s
			return func(in *interp) *cell {
				a := arr(in)
				return in.get(a, key, false)
			}
		}
		if c.isNumeric(e.subs[0]) {
			sub := c.num(e.subs[0])
			return func(in *interp) *cell {
				f := sub(in)
				a := arr(in)
				return in.getNum(a, f)
			}
		}
		sub := c.val(e.subs[0])
		return func(in *interp) *cell {
			v := sub(in)
			a := arr(in)
			if v.k == kNum {
				return in.getNum(a, v.n)
			}
			return in.get(a, v.s, v.view)
		}
	}
	key := c.subscript(e.subs)
	return func(in *interp) *cell {
		k := key(in)
		a := arr(in)
		return in.get(a, k, true)
	}
}

// subscript compiles a subscript list to its string.
func (c *compiler) subscript(subs []expr) strFn {
	if len(subs) == 1 {
		return c.str(subs[0])
	}
	parts := make([]strFn, len(subs))
	for i, e := range subs {
		parts[i] = c.str(e)
	}
	return func(in *interp) string {
		var stack [8]string
		list := stack[:0]
		for i, f := range parts {
			if i > 0 {
				list = append(list, in.subsep)
			}
			list = append(list, f(in))
		}
		return in.join(list)
	}
}

func unparen(e expr) expr {
	for {
		g, ok := e.(*group)
		if !ok || len(g.list) != 1 {
			return e
		}
		e = g.list[0]
	}
}

// isNumeric reports whether the value of e is always a number.
func (c *compiler) isNumeric(e expr) bool {
	switch e := unparen(e).(type) {
	case *numLit, *incdec, *unary, *regexLit, *inExpr, *getline:
		return true
	case *binary:
		return true
	case *assign:
		return e.op != tAssign || c.isNumeric(e.from)
	case *ternary:
		return c.isNumeric(e.t) && c.isNumeric(e.f)
	case *builtinCall:
		switch e.fn {
		case fSubstr, fSprintf, fTolower, fToupper, fGensub, fStrftime, fTypeof:
			return false
		}
		return true
	}
	return false
}

// val compiles e for its value.
func (c *compiler) val(e expr) valFn {
	switch e := e.(type) {
	case *numLit:
		v := num(e.v)
		return func(*interp) value { return v }
	case *strLit:
		v := str(e.s)
		return func(*interp) value { return v }
	case *group:
		if len(e.list) != 1 {
			panic(c.errorAt(0, "syntax error"))
		}
		return c.val(e.list[0])
	case *varRef:
		c.wantScalar(e)
		if e.scope == scopeSpecial {
			slot := e.slot
			return func(in *interp) value { return in.special(slot) }
		}
		ptr := c.ptr(e)
		return func(in *interp) value { return *ptr(in) }
	case *fieldRef:
		if lit, ok := e.idx.(*numLit); ok && lit.v >= 0 && lit.v < maxFields {
			n := int(lit.v)
			return func(in *interp) value { return *in.field(n) }
		}
		idx := c.num(e.idx)
		return func(in *interp) value { return *in.field(in.fieldIndex(idx(in))) }
	case *indexRef:
		cell := c.cell(e)
		return func(in *interp) value {
			k := cell(in)
			if k.sub != nil {
				in.fatal("attempt to use array in a scalar context")
			}
			return k.v
		}
	case *assign:
		return c.assign(e)
	case *incdec:
		f := c.incdec(e)
		return func(in *interp) value { return num(f(in)) }
	case *concat:
		f := c.str(e)
		return func(in *interp) value { return str(f(in)) }
	case *ternary:
		cond, t, f := c.cond(e.c), c.val(e.t), c.val(e.f)
		return func(in *interp) value {
			if cond(in) {
				return t(in)
			}
			return f(in)
		}
	case *call:
		return c.call(e)
	case *builtinCall:
		if c.isNumeric(e) {
			f := c.numBuiltin(e)
			return func(in *interp) value { return num(f(in)) }
		}
		return c.strBuiltin(e)
	case *binary:
		switch e.op {
		case tPlus, tMinus, tStar, tSlash, tPercent, tCaret:
			f := c.num(e)
			return func(in *interp) value { return num(f(in)) }
		}
		f := c.cond(e)
		return func(in *interp) value { return boolean(f(in)) }
	case *unary:
		if e.op == tNot {
			f := c.cond(e)
			return func(in *interp) value { return boolean(f(in)) }
		}
		f := c.num(e)
		return func(in *interp) value { return num(f(in)) }
	case *regexLit, *inExpr:
		f := c.cond(e)
		return func(in *interp) value { return boolean(f(in)) }
	case *getline:
		f := c.getline(e)
		return func(in *interp) value { return num(f(in)) }
	}
	panic("awk: unknown expression")
}

// num compiles e for its number.
func (c *compiler) num(e expr) numFn {
	switch e := e.(type) {
	case *numLit:
		v := e.v
		return func(*interp) float64 { return v }
	case *group:
		if len(e.list) == 1 {
			return c.num(e.list[0])
		}
	case *varRef:
		c.wantScalar(e)
		if e.scope == scopeSpecial {
			slot := e.slot
			return func(in *interp) float64 {
				v := in.special(slot)
				return v.num()
			}
		}
		if e.scope == scopeLocal {
			slot := e.slot
			return func(in *interp) float64 { return in.frame.vals[slot].num() }
		}
		slot := c.globals[e.name].slot
		return func(in *interp) float64 { return in.globals[slot].num() }
	case *fieldRef:
		if lit, ok := e.idx.(*numLit); ok && lit.v >= 0 && lit.v < maxFields {
			n := int(lit.v)
			return func(in *interp) float64 { return in.field(n).num() }
		}
		idx := c.num(e.idx)
		return func(in *interp) float64 { return in.field(in.fieldIndex(idx(in))).num() }
	case *incdec:
		return c.incdec(e)
	case *builtinCall:
		if c.isNumeric(e) {
			return c.numBuiltin(e)
		}
	case *getline:
		return c.getline(e)
	case *unary:
		x := e.x
		switch e.op {
		case tMinus:
			f := c.num(x)
			return func(in *interp) float64 { return -f(in) }
		case tPlus:
			return c.num(x)
		}
	case *binary:
		if f := c.arith(e); f != nil {
			return f
		}
	}
	switch e.(type) {
	case *unary, *binary, *regexLit, *inExpr:
		f := c.cond(e)
		return func(in *interp) float64 {
			if f(in) {
				return 1
			}
			return 0
		}
	}
	f := c.val(e)
	return func(in *interp) float64 {
		v := f(in)
		return v.num()
	}
}

func (c *compiler) arith(e *binary) numFn {
	switch e.op {
	case tPlus, tMinus, tStar, tSlash, tPercent, tCaret:
	default:
		return nil
	}
	l, r := c.num(e.l), c.num(e.r)
	switch e.op {
	case tPlus:
		if k, ok := unparen(e.r).(*numLit); ok {
			v := k.v
			return func(in *interp) float64 { return l(in) + v }
		}
		return func(in *interp) float64 { a := l(in); return a + r(in) }
	case tMinus:
		return func(in *interp) float64 { a := l(in); return a - r(in) }
	case tStar:
		return func(in *interp) float64 { a := l(in); return a * r(in) }
	}
	op := binop(e.op)
	return func(in *interp) float64 { a := l(in); return op(in, a, r(in)) }
}

// binop is the function of an arithmetic operator or its assignment.
func binop(op token) func(in *interp, a, b float64) float64 {
	divAssign, mod := "", "%"
	switch op {
	case tDivAssign:
		divAssign = " in `/='"
	case tModAssign:
		mod = "%="
	}
	switch op {
	case tPlus, tAddAssign:
		return func(_ *interp, a, b float64) float64 { return a + b }
	case tMinus, tSubAssign:
		return func(_ *interp, a, b float64) float64 { return a - b }
	case tStar, tMulAssign:
		return func(_ *interp, a, b float64) float64 { return a * b }
	case tSlash, tDivAssign:
		return func(in *interp, a, b float64) float64 {
			if b == 0 {
				in.fatal("division by zero attempted%s", divAssign)
			}
			return a / b
		}
	case tPercent, tModAssign:
		return func(in *interp, a, b float64) float64 {
			if b == 0 {
				in.fatal("division by zero attempted in `%s'", mod)
			}
			return modulo(a, b)
		}
	}
	return func(_ *interp, a, b float64) float64 { return power(a, b) }
}

// modulo is fmod, by integer division where that is exact.
func modulo(a, b float64) float64 {
	if a >= 0 && a < 1<<53 && b >= 1 && b < 1<<53 {
		if x, y := int64(a), int64(b); float64(x) == a && float64(y) == b {
			return float64(x % y)
		}
	}
	return math.Mod(a, b)
}

func power(a, b float64) float64 {
	if n := int(b); float64(n) == b && n >= 0 && n <= 1024 {
		r := 1.0
		for ; n > 0; n >>= 1 {
			if n&1 != 0 {
				r *= a
			}
			a *= a
		}
		return r
	}
	return math.Pow(a, b)
}

// str compiles e for its string.
func (c *compiler) str(e expr) strFn {
	switch e := e.(type) {
	case *strLit:
		s := e.s
		return func(*interp) string { return s }
	case *group:
		if len(e.list) == 1 {
			return c.str(e.list[0])
		}
	case *concat:
		parts := make([]strFn, len(e.parts))
		for i, x := range e.parts {
			parts[i] = c.str(x)
		}
		if len(parts) == 2 {
			a, b := parts[0], parts[1]
			return func(in *interp) string {
				x := a(in)
				y := b(in)
				in.checkSize(len(x) + len(y))
				return x + y
			}
		}
		return func(in *interp) string {
			var stack [8]string
			list := stack[:0]
			for _, f := range parts {
				list = append(list, f(in))
			}
			return in.join(list)
		}
	case *fieldRef:
		if lit, ok := e.idx.(*numLit); ok && lit.v == 0 {
			return func(in *interp) string { return in.record() }
		}
	}
	f := c.val(e)
	return func(in *interp) string {
		v := f(in)
		return in.str(v)
	}
}

// join concatenates.
func (in *interp) join(list []string) string {
	n := 0
	for _, s := range list {
		n += len(s)
	}
	in.checkSize(n)
	return strings.Join(list, "")
}

// cond compiles e for its truth.
func (c *compiler) cond(e expr) boolF {
	switch e := e.(type) {
	case *group:
		if len(e.list) == 1 {
			return c.cond(e.list[0])
		}
	case *regexLit:
		src := e.src
		re := c.constRegex(src)
		return func(in *interp) bool { return re(in).match(in.record()) }
	case *unary:
		if e.op == tNot {
			f := c.cond(e.x)
			return func(in *interp) bool { return !f(in) }
		}
	case *inExpr:
		arr, key := c.arr(e.arr), c.subscript(e.subs)
		return func(in *interp) bool {
			k := key(in)
			return arr(in).has(k)
		}
	case *binary:
		switch e.op {
		case tAnd:
			l, r := c.cond(e.l), c.cond(e.r)
			return func(in *interp) bool { return l(in) && r(in) }
		case tOr:
			l, r := c.cond(e.l), c.cond(e.r)
			return func(in *interp) bool { return l(in) || r(in) }
		case tTilde, tNoMatch:
			s, re := c.str(e.l), c.regexArg(e.r)
			want := e.op == tTilde
			return func(in *interp) bool {
				t := s(in)
				return re(in).match(t) == want
			}
		case tLt, tLe, tGt, tGe, tEq, tNe:
			return c.comparison(e)
		}
		f := c.num(e)
		return func(in *interp) bool { return f(in) != 0 }
	case *incdec, *numLit, *getline:
		f := c.num(e)
		return func(in *interp) bool { return f(in) != 0 }
	}
	f := c.val(e)
	return func(in *interp) bool {
		v := f(in)
		return v.truth()
	}
}

func (c *compiler) comparison(e *binary) boolF {
	op := e.op
	if c.isNumeric(e.l) && c.isNumeric(e.r) {
		return c.numComparison(e)
	}
	if lit, ok := unparen(e.r).(*strLit); ok && (op == tEq || op == tNe) {
		l := c.str(e.l)
		want, eq := lit.s, op == tEq
		return func(in *interp) bool {
			s := l(in)
			if in.ignoreCase {
				return strings.EqualFold(s, want) == eq
			}
			return (s == want) == eq
		}
	}
	l, r := c.val(e.l), c.val(e.r)
	test := order(op)
	return func(in *interp) bool {
		a := l(in)
		b := r(in)
		if a.k == kNum && b.k == kNum {
			return test(a.n, b.n)
		}
		if op != tEq && op != tNe && (a.n != a.n || b.n != b.n) {
			a.num()
			b.num()
		}
		return test(float64(in.compare(&a, &b)), 0)
	}
}

func order(op token) func(a, b float64) bool {
	switch op {
	case tLt:
		return func(a, b float64) bool { return a < b }
	case tLe:
		return func(a, b float64) bool { return a <= b }
	case tGt:
		return func(a, b float64) bool { return a > b }
	case tGe:
		return func(a, b float64) bool { return a >= b }
	case tEq:
		return func(a, b float64) bool { return a == b }
	}
	return func(a, b float64) bool { return a != b }
}

func (c *compiler) numComparison(e *binary) boolF {
	l, r := c.num(e.l), c.num(e.r)
	switch e.op {
	case tLt:
		return func(in *interp) bool { a := l(in); return a < r(in) }
	case tLe:
		return func(in *interp) bool { a := l(in); return a <= r(in) }
	case tGt:
		return func(in *interp) bool { a := l(in); return a > r(in) }
	case tGe:
		return func(in *interp) bool { a := l(in); return a >= r(in) }
	case tEq:
		return func(in *interp) bool { a := l(in); return a == r(in) }
	}
	return func(in *interp) bool { a := l(in); return a != r(in) }
}

// constRegex compiles a regex literal when the program first needs it, once per run and
// setting of IGNORECASE.
func (c *compiler) constRegex(src string) func(in *interp) *regex {
	slot := c.prog.nRegexes
	c.prog.nRegexes++
	return func(in *interp) *regex {
		r := in.constRegexes[slot]
		if r == nil {
			r = in.regexOf(src)
			in.constRegexes[slot] = r
		}
		return r
	}
}

// regexArg compiles an expression used as a regular expression.
func (c *compiler) regexArg(e expr) func(in *interp) *regex {
	switch e := unparen(e).(type) {
	case *regexLit:
		return c.constRegex(e.src)
	case *strLit:
		return c.constRegex(e.s)
	}
	s := c.str(e)
	return func(in *interp) *regex { return in.regexOf(s(in)) }
}

// setter compiles the storing into an lvalue.
func (c *compiler) setter(e expr) func(in *interp, v value) {
	switch e := e.(type) {
	case *group:
		if len(e.list) == 1 {
			return c.setter(e.list[0])
		}
	case *varRef:
		c.wantScalar(e)
		if e.scope == scopeSpecial {
			slot := e.slot
			return func(in *interp, v value) { in.setSpecial(slot, v) }
		}
		ptr := c.ptr(e)
		return func(in *interp, v value) { in.store(ptr(in), v) }
	case *fieldRef:
		idx := c.num(e.idx)
		return func(in *interp, v value) { in.setField(in.fieldIndex(idx(in)), v) }
	case *indexRef:
		cell := c.cell(e)
		return func(in *interp, v value) {
			k := cell(in)
			if k.sub != nil {
				in.fatal("attempt to use array in a scalar context")
			}
			in.store(&k.v, v)
		}
	}
	panic(c.errorAt(0, "syntax error"))
}

func (c *compiler) assign(e *assign) valFn {
	if e.op == tAssign {
		from := c.val(e.from)
		switch to := e.to.(type) {
		case *indexRef:
			return c.assignElement(to, from)
		case *fieldRef:
			idx := c.num(to.idx)
			return func(in *interp) value {
				n := in.fieldIndex(idx(in))
				v := from(in)
				in.setField(n, v)
				return v
			}
		}
		if ptr := c.ptr(e.to); ptr != nil {
			return func(in *interp) value {
				v := from(in)
				in.store(ptr(in), v)
				return v
			}
		}
		set := c.setter(e.to)
		return func(in *interp) value {
			v := from(in)
			set(in, v)
			return v
		}
	}
	op, from := binop(e.op), c.num(e.from)
	switch to := e.to.(type) {
	case *indexRef:
		cell := c.cell(to)
		return func(in *interp) value {
			f := from(in)
			k := cell(in)
			r := num(op(in, k.v.num(), f))
			in.store(&k.v, r)
			return r
		}
	case *fieldRef:
		idx := c.num(to.idx)
		return func(in *interp) value {
			f := from(in)
			n := in.fieldIndex(idx(in))
			r := num(op(in, in.field(n).num(), f))
			in.setField(n, r)
			return r
		}
	}
	if ptr := c.ptr(e.to); ptr != nil {
		return func(in *interp) value {
			f := from(in)
			v := ptr(in)
			r := num(op(in, v.num(), f))
			in.store(v, r)
			return r
		}
	}
	get, set := c.num(e.to), c.setter(e.to)
	return func(in *interp) value {
		f := from(in)
		r := num(op(in, get(in), f))
		set(in, r)
		return r
	}
}

// assignElement evaluates the value, then the subscript, as gawk does, and finds the cell last: the
// expressions may delete the array.
func (c *compiler) assignElement(to *indexRef, from valFn) valFn {
	if to.base != nil {
		cell := c.cell(to)
		return func(in *interp) value {
			v := from(in)
			k := cell(in)
			if k.sub != nil {
				in.fatal("attempt to use array in a scalar context")
			}
			in.store(&k.v, v)
			return v
		}
	}
	arr := c.arr(to.arr)
	if len(to.subs) == 1 && c.isNumeric(to.subs[0]) {
		sub := c.num(to.subs[0])
		return func(in *interp) value {
			v := from(in)
			f := sub(in)
			a := arr(in)
			in.store(&in.getNum(a, f).v, v)
			return v
		}
	}
	key := c.subscript(to.subs)
	return func(in *interp) value {
		v := from(in)
		s := key(in)
		a := arr(in)
		in.store(&in.get(a, s, true).v, v)
		return v
	}
}

func (c *compiler) incdec(e *incdec) numFn {
	d, prefix := e.delta, e.prefix
	if ptr := c.ptr(e.to); ptr != nil {
		return func(in *interp) float64 {
			v := ptr(in)
			old := v.num()
			in.store(v, num(old+d))
			if prefix {
				return old + d
			}
			return old
		}
	}
	if f, ok := e.to.(*fieldRef); ok {
		idx := c.num(f.idx)
		return func(in *interp) float64 {
			n := in.fieldIndex(idx(in))
			old := in.field(n).num()
			in.setField(n, num(old+d))
			if prefix {
				return old + d
			}
			return old
		}
	}
	get, set := c.num(e.to), c.setter(e.to)
	return func(in *interp) float64 {
		old := get(in)
		set(in, num(old+d))
		if prefix {
			return old + d
		}
		return old
	}
}

// call compiles a call of a user function.
func (c *compiler) call(e *call) valFn {
	if e.dyn != nil {
		return c.dynamicCall(e)
	}
	return c.bind(e.fn, e.args)
}

// dynamicCall is @name(…): the function is chosen when the call is made.
func (c *compiler) dynamicCall(e *call) valFn {
	name := c.str(e.dyn)
	bound := map[string]valFn{}
	for fname, f := range c.funcs {
		if len(e.args) <= len(f.params) && c.fits(f, e.args) {
			bound[fname] = c.bind(f, e.args)
		}
	}
	return func(in *interp) value {
		n := name(in)
		f, ok := bound[n]
		if !ok {
			in.fatal("function called indirectly through `%s' does not exist", n)
		}
		return f(in)
	}
}

// fits reports whether args have the kinds f wants.
func (c *compiler) fits(f *function, args []expr) bool {
	for i, a := range args {
		v, ok := unparen(a).(*varRef)
		if array := ok && c.isArrayRef(v); array != f.isArray[i] {
			if _, ix := unparen(a).(*indexRef); !ix || array {
				return false
			}
		}
	}
	return true
}

func (c *compiler) bind(f *function, args []expr) valFn {
	type arg struct {
		val valFn
		arr arrFn
	}
	bound := make([]arg, len(args))
	anyArray := false
	for i := range f.params {
		anyArray = anyArray || f.isArray[i]
	}
	for i, a := range args {
		if !f.isArray[i] {
			bound[i].val = c.val(a)
			continue
		}
		switch x := unparen(a).(type) {
		case *varRef:
			if x.scope == scopeSpecial {
				panic(c.errorAt(x.pos, "fatal: attempt to use scalar `%s' as an array", x.name))
			}
			bound[i].arr = c.arr(x)
		case *indexRef:
			bound[i].arr = c.arr(x)
		default:
			panic(c.errorAt(0, "fatal: function `%s': argument #%d: attempt to use scalar as an array", f.name, i+1))
		}
	}
	nparams := len(f.params)
	return func(in *interp) value {
		stack := in.vals
		fr := frame{vals: in.alloc(nparams)}
		if anyArray {
			fr.arrs = make([]*array, nparams)
		}
		for i := range bound {
			if bound[i].arr != nil {
				fr.arrs[i] = bound[i].arr(in)
			} else {
				fr.vals[i] = bound[i].val(in)
			}
		}
		return in.invoke(f, fr, len(bound), stack)
	}
}

// invoke runs f in the frame, whose first nargs slots are its arguments; stack is the stack of
// locals to go back to.
func (in *interp) invoke(f *function, fr frame, nargs int, stack []value) value {
	in.p.Tick(1)
	if in.depth += f.weight; in.depth > maxStack {
		in.fatal("function `%s': calls nested too deeply", f.name)
	}
	n := f.weight * stackCost
	for i := range nargs {
		n += len(fr.vals[i].s)
	}
	in.hold(n)
	caller := in.frame
	in.frame = fr
	r := f.code(in)
	in.frame = caller
	in.depth -= f.weight
	n = f.weight * stackCost
	for i := range fr.vals {
		n += len(fr.vals[i].s)
		fr.vals[i] = value{}
	}
	for i := nargs; i < len(fr.arrs); i++ {
		if a := fr.arrs[i]; a != nil {
			n += a.cost()
		}
	}
	in.hold(-n)
	in.vals = stack
	switch r {
	case ctlNext, ctlNextFile, ctlExit:
		panic(unwind(r))
	case ctlReturn:
		v := in.ret
		in.ret = value{}
		return v
	}
	return value{}
}

// callWith calls a user function with scalar arguments.
func (in *interp) callWith(f *function, args ...value) value {
	stack := in.vals
	fr := frame{vals: in.alloc(len(f.params)), arrs: make([]*array, len(f.params))}
	copy(fr.vals, args)
	return in.invoke(f, fr, min(len(args), len(f.params)), stack)
}
