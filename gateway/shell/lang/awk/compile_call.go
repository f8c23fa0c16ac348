package awk

import "strings"

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
		if e.base == nil && isTable(e.arr) {
			key, name := c.subscript(e.subs), e.arr.name
			return func(in *interp, v value) { in.setSymbol(name, key(in), v) }
		}
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
			if to.base == nil && isTable(to.arr) {
				break
			}
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
		if to.base == nil && isTable(to.arr) {
			break
		}
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
	switch {
	case e.dyn != nil:
		return c.dynamicCall(e)
	case !e.fn.defined:
		name := e.name
		return func(in *interp) value {
			in.fatal("function `%s' not defined", name)
			return value{}
		}
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
	for b, info := range builtinTable {
		if n := len(e.args); info.name != "" && n >= info.min && n <= info.max && c.takes(info, e.args) {
			bound[info.name] = c.val(&builtinCall{node: e.node, fn: builtin(b), args: e.args, pos: e.pos})
		}
	}
	return func(in *interp) value {
		n := strings.TrimPrefix(name(in), "awk::")
		f, ok := bound[n]
		if !ok {
			in.fatal("`%s' is not a function, so it cannot be called indirectly", n)
		}
		return f(in)
	}
}

// takes reports whether a built-in function can be called with args: arrays where it wants them, and only there.
func (c *compiler) takes(info builtinInfo, args []expr) bool {
	for i, a := range args {
		if info.name == "isarray" || info.name == "typeof" || info.name == "length" {
			break
		}
		if c.isArrayArg(a) != (strings.IndexByte(info.arrays, byte('0'+i)) >= 0) {
			return false
		}
	}
	switch info.name {
	case "sub", "gsub": // on $0 only
		return len(args) == 2
	}
	return true
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
		if i >= len(f.params) || !f.isArray[i] {
			switch v, ok := unparen(a).(*varRef); {
			case ok && i >= len(f.params) && c.isArrayRef(v): // nobody looks at it
				bound[i].val = func(*interp) value { return value{} }
			case ok && v.scope != scopeSpecial && !c.isArrayRef(v): // handing it on is not reading it
				ptr := c.ptr(v)
				bound[i].val = func(in *interp) value { return *ptr(in) }
			default:
				bound[i].val = c.val(a)
			}
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
			} else if v := bound[i].val(in); i < nparams {
				fr.vals[i] = v
			}
		}
		if len(bound) > nparams {
			in.p.Errorf("%swarning: function `%s' called with more arguments than declared", in.where(), f.name)
		}
		return in.invoke(f, fr, min(len(bound), nparams), stack)
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
