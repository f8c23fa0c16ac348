package awk

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
		if e.base == nil && isTable(e.arr) {
			return nil
		}
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
		if isTable(e) && e.name == "SYMTAB" {
			return func(in *interp) *array { return in.symbols(in.arrays[slot]) }
		}
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
	if e.base == nil && isTable(e.arr) {
		key, name := c.subscript(e.subs), e.arr.name
		return func(in *interp) *cell {
			k := key(in)
			found := arr(in).m[k]
			if found == nil {
				in.fatal("reference to uninitialized element `%s[\"%s\"] is not allowed'", name, k)
			}
			return found
		}
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
		case fSubstr, fSprintf, fTolower, fToupper, fGensub, fStrftime, fTypeof, fDcgettext, fDcngettext, fBindtextdomain:
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
		if e.regex {
			v.k = kRegex
		}
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
		if c.reads {
			return func(in *interp) value {
				v := ptr(in)
				if v.k == kUninit {
					v.k = kNull
				}
				return *v
			}
		}
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
			if k.v.k == kUninit && c.reads {
				return value{k: kNull}
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
