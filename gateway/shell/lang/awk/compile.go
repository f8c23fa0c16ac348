package awk

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
	prog := &Program{globals: p.globals, funcs: p.funcs, names: p.names, identifiers: p.identifiers}
	for _, name := range []string{"ENVIRON", "ARGV", "PROCINFO", "FUNCTAB", "SYMTAB"} {
		s := p.globals[name]
		if s == nil && (name == "FUNCTAB" || name == "SYMTAB") {
			continue
		}
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
		if v, ok := s.arr.(*varRef); ok && isTable(v) {
			return func(in *interp) ctl {
				in.fatal("`delete' is not allowed with %s", v.name)
				return ctlNone
			}
		}
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
				return !v.text() && v.n == k.v
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
