package shell

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pgbox/pgbox/gateway/shell/text/arith"
)

// lookup finds a variable by name; what is computed on demand comes as a temporary one.
func (sh *Shell) lookup(name string) *variable {
	v := sh.vars[name]
	if v != nil && v.dyn != nil {
		d := v.dyn(sh)
		d.attrs |= v.attrs
		return d
	}
	return v
}

// own returns the variable for changing: created when it does not exist, copied when it is shared.
func (sh *Shell) own(name string) *variable {
	v := sh.vars[name]
	switch {
	case v == nil:
		v = &variable{owner: sh}
		sh.hold(int64(len(name)) + 64)
		sh.vars[name] = v
	case v.shared || v.owner != sh:
		c := v.clone()
		if v.owner == sh {
			sh.hold(0)
		} else {
			sh.hold(c.size())
		}
		c.owner = sh
		sh.vars[name] = c
		v = c
	}
	return v
}

func (sh *Shell) get(name string) (string, bool) {
	v := sh.vars[name]
	if v == nil {
		return "", false
	}
	if v.attrs&aNameref != 0 {
		r := sh.follow(name, nil)
		if r.global {
			val, ok := "", false
			sh.globally(r.name, func() {
				if v := sh.lookup(r.name); v != nil {
					val, ok = v.scalar()
				}
			})
			return val, ok
		}
		if r.sub != nil {
			return sh.element(r.name, r.sub)
		}
		if v = sh.vars[r.name]; v == nil || v.attrs&aNameref != 0 {
			return "", false
		}
	}
	if v.dyn != nil {
		v = v.dyn(sh)
	}
	return v.scalar()
}

func (sh *Shell) str(name string) string {
	s, _ := sh.get(name)
	return s
}

// element is the value of name[sub] for one element.
func (sh *Shell) element(name string, sub *subscript) (string, bool) {
	v := sh.lookup(name)
	if v == nil {
		if sub.parts == nil && sub.expr == nil && sub.err == nil {
			return "", false
		}
		sh.index(name, nil, sub)
		return "", false
	}
	if v.attrs&aAssoc != 0 {
		key := sh.subKey(sub)
		e, ok := v.assoc.m[key]
		return e.val, ok
	}
	i := sh.index(name, v, sub)
	if v.attrs&aArray != 0 {
		return v.arr.get(i)
	}
	if i == 0 {
		return v.scalar()
	}
	return "", false
}

// subKey expands a subscript as the key of an associative array.
func (sh *Shell) subKey(sub *subscript) string {
	if sub.parts == nil {
		return sub.lit
	}
	return sh.joinParts(sub.parts)
}

// subIndex evaluates a subscript as a number.
func (sh *Shell) subIndex(name string, sub *subscript) int64 {
	if sub.index != nil {
		return sh.evalArith(sub.index, asValue)
	}
	if sub.parts == nil && sub.err == nil {
		return sh.evalExpr(sub.expr, asValue)
	}
	text := sub.lit
	if sub.parts != nil {
		text = sh.joinParts(sub.parts)
	}
	if text == "" {
		sh.fatal("%s: bad array subscript", name)
	}
	return sh.evalText(text, asValue)
}

// fromEnd makes a negative index count from the end; one before the start stays negative.
func (sh *Shell) fromEnd(v *variable, i int64) int64 {
	if i < 0 && v != nil && v.attrs&aArray != 0 {
		i += v.arr.last() + 1
	}
	return i
}

// index evaluates a subscript as the index of an array, and says when there cannot be such an element: -1.
func (sh *Shell) index(name string, v *variable, sub *subscript) int64 {
	i := sh.fromEnd(v, sh.subIndex(name, sub))
	if i < 0 {
		sh.errorf("%s: bad array subscript", name)
		return -1
	}
	return i
}

// readonlyErr reports an assignment to a readonly variable and abandons the line.
func (sh *Shell) readonlyErr(name string) {
	sh.errorf(sh.either("%s: readonly variable", "%s: is read only"), name)
	if sh.posix {
		sh.exitExpansion()
	}
	panic(abortPanic{status: 1, errexit: true, soft: true})
}

// setVar assigns a scalar (or element 0 of an array), honouring attributes.
func (sh *Shell) setVar(name, val string) {
	if v := sh.vars[name]; v != nil && v.attrs&aNameref != 0 {
		sh.setRef(name, val)
		return
	}
	sh.setNoRef(name, val)
}

// setNoRef is setVar for a variable that is not looked at as a nameref.
func (sh *Shell) setNoRef(name, val string) {
	v := sh.vars[name]
	if v != nil {
		if v.attrs&aReadonly != 0 {
			sh.readonlyErr(name)
		}
		if v.assign != nil {
			v.assign(sh, val)
			return
		}
		if v.dyn != nil && v.attrs&aNoAssign != 0 {
			return
		}
	}
	sh.store(name, val)
}

// store assigns without looking at readonly or namerefs.
func (sh *Shell) store(name, val string) {
	v := sh.own(name)
	v.dyn = nil
	val = sh.convert(v, val)
	switch {
	case v.attrs&aAssoc != 0:
		old := v.assoc.bytes
		v.assoc.set("0", val)
		sh.hold(v.assoc.bytes - old)
	case v.attrs&aArray != 0:
		old := v.arr.bytes
		v.arr.set(0, val)
		sh.hold(v.arr.bytes - old)
	default:
		sh.hold(int64(len(val) - len(v.str)))
		v.setStr(val)
	}
	v.attrs |= aSet
	if name == "IFS" {
		sh.ifsChanged = true
	} else {
		sh.localeVar(name)
	}
	if sh.opts.get('a') {
		v.attrs |= aExport
	}
	if hook := varHooks[name]; hook != nil {
		hook(sh, val)
	}
}

// varHooks are told of new values of variables the shell itself uses.
var varHooks = map[string]func(*Shell, string){
	"OPTIND": func(sh *Shell, s string) { sh.optind = optState{} },
	"HISTSIZE": func(sh *Shell, s string) {
		if sh.trimHistory(s) {
			sh.history.base = 0 // they are counted anew
		}
	},
	"PATH": func(sh *Shell, s string) { sh.hashed = nil },
}

// aConverting are the attributes that change values.
const aConverting = aInteger | aLower | aUpper | aCapital

// convert applies the attributes that change values.
func (sh *Shell) convert(v *variable, val string) string {
	switch {
	case v.attrs&aInteger != 0:
		return strconv.FormatInt(sh.evalText(val, asValue), 10)
	case v.attrs&aLower != 0:
		return strings.ToLower(val)
	case v.attrs&aUpper != 0:
		return strings.ToUpper(val)
	case v.attrs&aCapital != 0:
		r, w := utf8.DecodeRuneInString(val)
		if w > 0 && r != utf8.RuneError {
			return string(unicode.ToUpper(r)) + strings.ToLower(val[w:])
		}
	}
	return val
}

// setElement assigns name[sub]; add appends (or adds, for integers).
func (sh *Shell) setElement(name string, sub *subscript, val string, add bool) {
	name, ok := sh.arrayTarget(name, false)
	if !ok {
		return
	}
	if v := sh.vars[name]; v != nil && v.attrs&aReadonly != 0 {
		sh.readonlyErr(name)
	}
	if sub.all != 0 {
		if v := sh.vars[name]; v == nil || v.attrs&aAssoc == 0 {
			sh.fatal("%s[%s]: bad array subscript", name, sub.text)
		}
	}
	if v := sh.vars[name]; v != nil && v.assignKey != nil {
		key := sh.subKey(sub)
		if add {
			val = sh.lookup(name).assoc.value(key) + val
		}
		v.assignKey(sh, key, val)
		return
	}
	v := sh.own(name)
	if v.attrs&aAssoc != 0 {
		key := sh.subKey(sub)
		if key == "" {
			sh.fatal("%s[%s]: bad array subscript", name, sub.text)
		}
		v = sh.own(name)
		if add {
			val = sh.appended(v, v.assoc.m[key].val, val)
		} else {
			val = sh.convert(v, val)
		}
		old := v.assoc.bytes
		v.assoc.set(key, val)
		v.attrs |= aSet
		sh.hold(v.assoc.bytes - old)
		return
	}
	i := sh.indexForWrite(name, v, sub)
	v = sh.own(name)
	sh.makeArray(v)
	if add {
		old, _ := v.arr.get(i)
		val = sh.appended(v, old, val)
	} else {
		val = sh.convert(v, val)
	}
	old := v.arr.bytes
	v.arr.set(i, val)
	v.attrs |= aSet
	sh.hold(v.arr.bytes - old)
}

func (sh *Shell) indexForWrite(name string, v *variable, sub *subscript) int64 {
	var i int64
	if sub.index != nil {
		i = sh.evalArith(sub.index, asValue)
	} else if sub.parts == nil && sub.err == nil {
		i = sh.evalExpr(sub.expr, "")
		if sub.lit == "" {
			sh.fatal("%s[%s]: bad array subscript", name, sub.text)
		}
	} else {
		text := sub.lit
		if sub.parts != nil {
			text = sh.joinParts(sub.parts)
		}
		if text == "" {
			sh.fatal("%s[%s]: bad array subscript", name, sub.text)
		}
		i = sh.evalText(text, asValue)
	}
	if i < 0 {
		last := int64(-1)
		if v.attrs&aArray != 0 {
			last = v.arr.last()
		} else if v.attrs&aSet != 0 {
			last = 0
		}
		if i += last + 1; i < 0 {
			sh.fatal("%s[%s]: bad array subscript", name, sub.text)
		}
	}
	return i
}

// makeArray turns a scalar into an indexed array with the value at index 0.
func (sh *Shell) makeArray(v *variable) {
	if v.isArray() {
		if v.arr == nil && v.attrs&aArray != 0 {
			v.arr = &indexed{}
		}
		return
	}
	v.attrs |= aArray
	v.arr = &indexed{}
	if v.attrs&aSet != 0 {
		v.arr.set(0, v.str)
		v.setStr("")
		sh.hold(elemOverhead)
	}
}

func (sh *Shell) appended(v *variable, old, val string) string {
	if v.attrs&aInteger != 0 {
		return strconv.FormatInt(sh.evalText(old, asValue)+sh.evalText(val, asValue), 10)
	}
	return sh.convert(v, old+val)
}

func (sh *Shell) appendedIf(add bool, v *variable, old, val string) string {
	if add {
		return sh.appended(v, old, val)
	}
	return sh.convert(v, val)
}

// setArray replaces the whole array.
func (sh *Shell) setArray(name string, vals []string) {
	name, ok := sh.arrayTarget(name, true)
	if !ok {
		return
	}
	if v := sh.vars[name]; v != nil && v.attrs&aReadonly != 0 {
		sh.readonlyErr(name)
	}
	v := sh.own(name)
	v.dyn = nil
	old := v.size()
	v.attrs = v.attrs&^aAssoc | aArray | aSet
	v.setStr("")
	v.assoc = nil
	v.arr = &indexed{dense: vals}
	if v.attrs&aConverting != 0 {
		for i, s := range vals {
			vals[i] = sh.convert(v, s)
		}
	}
	for _, s := range vals {
		v.arr.bytes += int64(len(s)) + elemOverhead
	}
	sh.hold(v.size() - old)
}

// export sets an exported variable of the start environment.
func (sh *Shell) export(name, val string) {
	if !isName(name) {
		return
	}
	v := sh.own(name)
	sh.hold(int64(len(val) - len(v.str)))
	v.str = val
	v.attrs |= aExport | aSet
}

// unsetVar removes a variable. A local of the current function stays local, but unset.
func (sh *Shell) unsetVar(name string) {
	v := sh.vars[name]
	if v == nil {
		return
	}
	if v.owner == sh {
		sh.hold(-v.size())
	}
	for i := len(sh.frames) - 1; i >= 0; i-- {
		f := sh.frames[i]
		for k := len(f.locals) - 1; k >= 0; k-- {
			if f.locals[k].name != name {
				continue
			}
			if f.isFunc && !f.locals[k].temp && (i == len(sh.frames)-1 || sh.opts.shopt(localvarUnset)) {
				sh.vars[name] = &variable{owner: sh, local: true}
				return
			}
			// Unset in a callee uncovers what the local hid.
			prev := f.locals[k].prev
			f.locals = append(append([]saved{}, f.locals[:k]...), f.locals[k+1:]...)
			if prev == nil {
				delete(sh.vars, name)
			} else {
				sh.vars[name] = prev
			}
			return
		}
	}
	delete(sh.vars, name)
	sh.replaced(name)
}

// makeLocal hides a variable until the frame ends.
func (sh *Shell) makeLocal(f *frame, name string) *variable {
	for i, l := range f.locals {
		if l.name == name && sh.vars[name] != nil {
			f.locals = slices.Clone(f.locals) // subshells share them
			f.locals[i].temp = false
			return sh.own(name)
		}
	}
	prev := sh.vars[name]
	f.locals = append(f.locals[:len(f.locals):len(f.locals)], saved{name, prev, false})
	v := &variable{owner: sh, local: true}
	if prev != nil {
		v.attrs = prev.attrs & aExport
	}
	sh.vars[name] = v
	sh.hold(int64(len(name)) + 64)
	sh.replaced(name)
	return v
}

// popLocals restores what the frame's locals hid.
func (sh *Shell) popLocals(f *frame) {
	for i := len(f.locals) - 1; i >= 0; i-- {
		l := f.locals[i]
		if v := sh.vars[l.name]; v != nil && v.owner == sh {
			sh.hold(-v.size() - int64(len(l.name)) - 64)
		}
		if l.prev == nil {
			delete(sh.vars, l.name)
		} else {
			sh.vars[l.name] = l.prev
		}
		sh.replaced(l.name)
		if l.name == "OPTIND" {
			sh.optind = f.optind // the caller goes on within its operand
		}
	}
	f.locals = nil
}

// topFunc is the innermost function call, nil outside of functions.
func (sh *Shell) topFunc() *frame {
	for i := len(sh.frames) - 1; i >= 0; i-- {
		if sh.frames[i].isFunc {
			return sh.frames[i]
		}
	}
	return nil
}

// arithmetic

type arithEnv struct {
	sh  *Shell
	who string
}

func (e arithEnv) Step() { e.sh.tick() }

func (e arithEnv) Nest(n int) bool {
	e.sh.nested += n
	return e.sh.nested <= arith.MaxNest
}

func (e arithEnv) Parse(text string) (*arith.Expr, error) { return e.sh.parseArith(text) }

func (sh *Shell) parseArith(text string) (*arith.Expr, error) {
	if x, ok := sh.arithMemo[text]; ok {
		return x, nil
	}
	x, err := arith.Parse(text, sh.readStep)
	if err == nil && len(text) < 256 {
		if len(sh.arithMemo) > 500 {
			sh.arithMemo = nil
		}
		if sh.arithMemo == nil {
			sh.arithMemo = map[string]*arith.Expr{}
		}
		sh.arithMemo[text] = x
	}
	return x, err
}

func subOf(s *arith.Sub) *subscript {
	if strings.ContainsAny(s.Text, "$`\"'\\") { // it is expanded again, as bash does
		c := compiler{}
		return c.subscript(s.Text)
	}
	out := &subscript{text: s.Text, lit: s.Text, expr: s.Expr, err: s.Err}
	if s.Text == "@" || s.Text == "*" {
		out.all = s.Text[0]
	}
	return out
}

func (e arithEnv) Value(name string, sub *arith.Sub) string {
	sh := e.sh
	var val string
	var ok bool
	if sub == nil {
		val, ok = sh.get(name)
	} else {
		name, _ = sh.deref(name, nil)
		val, ok = sh.element(name, subOf(sub))
	}
	if !ok && sh.opts.get('u') {
		// of an array that is set, an element may be missing
		if v := sh.lookup(name); sub != nil && v != nil && v.attrs&aSet != 0 {
			return ""
		}
		sh.unbound(name)
	}
	return val
}

func (e arithEnv) Assign(name string, sub *arith.Sub, v int64) {
	s := strconv.FormatInt(v, 10)
	if v := e.sh.vars[name]; sub == nil && v != nil && v.attrs&aNameref != 0 && strings.HasSuffix(e.who, ": ") {
		running := e.sh.running
		e.sh.running = strings.TrimSuffix(e.who, ": ")
		e.sh.setVar(name, s)
		e.sh.running = running
		return
	}
	if sub == nil {
		e.sh.setVar(name, s)
		return
	}
	e.sh.setElement(name, subOf(sub), s, false)
}

// asValue is who evaluates what an integer variable gets, or the index of an array.
const asValue = "="

// evalExpr evaluates a parsed expression; who prefixes the error message ("((: ", "let: ").
func (sh *Shell) evalExpr(x *arith.Expr, who string) int64 {
	sh.tick()
	sh.enter()
	v, err := x.Eval(arithEnv{sh, who})
	sh.leave()
	if err != nil {
		sh.arithFailed(who, err)
	}
	return v
}

// arithFailed reports an expression that has no value. As the value of a variable or an index it ends the shell, in
// POSIX mode in an expansion too.
func (sh *Shell) arithFailed(who string, err error) {
	prefix := who
	if who == asValue {
		if prefix = sh.running; prefix != "" {
			prefix += ": "
		}
	}
	sh.errorf("%s%s", prefix, asArithError(err))
	switch {
	case who == asValue && sh.sub == 0 && !sh.opts.get('c'):
		panic(abortPanic{status: 1})
	case who == asValue:
		panic(exitPanic{1})
	case sh.posix && who == "":
		sh.exitExpansion()
	}
	panic(abortPanic{status: 1, soft: who == "((: " || who == "let: " || who == "[[: "})
}

// evalText parses and evaluates an expression that has been expanded.
func (sh *Shell) evalText(text, who string) int64 {
	if n := parsedSize(text); n > 1<<16 {
		sh.hold(n)
		defer sh.hold(-n)
	}
	x, err := sh.parseArith(text)
	if err != nil {
		sh.arithFailed(who, err)
	}
	return sh.evalExpr(x, who)
}

// evalArith expands and evaluates an expression as written.
func (sh *Shell) evalArith(a *arithText, who string) int64 {
	if a == nil {
		return 0
	}
	if a.parts == nil {
		if a.err != nil {
			sh.arithFailed(who, a.err)
		}
		return sh.evalExpr(a.expr, who)
	}
	return sh.evalText(sh.arithParts(a.parts), who)
}

// arithParts expands an expression. What an expansion gives in a subscript is escaped there: it neither ends it nor is
// it expanded again.
func (sh *Shell) arithParts(parts []part) string {
	if !slices.ContainsFunc(parts, func(p part) bool { l, ok := p.(*litPart); return ok && strings.Contains(l.s, "[") }) {
		return sh.joinParts(parts)
	}
	var b strings.Builder
	depth := 0
	for i, p := range parts {
		if l, ok := p.(*litPart); ok {
			depth = max(depth+strings.Count(l.s, "[")-strings.Count(l.s, "]"), 0)
			b.WriteString(l.s)
			continue
		}
		text := sh.joinParts(parts[i : i+1])
		if depth == 0 || !strings.ContainsAny(text, "[]$`\"'\\") {
			b.WriteString(text)
			continue
		}
		sh.ticks += int64(len(text) >> 8)
		for k := range len(text) {
			if strings.IndexByte("[]$`\"'\\", text[k]) >= 0 {
				b.WriteByte('\\')
			}
			b.WriteByte(text[k])
		}
	}
	return b.String()
}

func (sh *Shell) unbound(name string) {
	if !isName(name) && !strings.Contains(name, "[") {
		name = "$" + name
	}
	if sh.dash {
		name = strings.TrimPrefix(name, "$")
	}
	sh.errorf(sh.either("%s: unbound variable", "%s: parameter not set"), name)
	sh.exitExpansion()
}

// exitExpansion ends the shell after an expansion error that is fatal even to scripts.
// bash -c without -e has a status of its own for it.
func (sh *Shell) exitExpansion() {
	if sh.interactive() {
		panic(abortPanic{status: 1})
	}
	if sh.dash {
		panic(exitPanic{2})
	}
	if sh.sub > 0 || !sh.opts.get('c') || sh.opts.get('e') {
		panic(exitPanic{1})
	}
	panic(exitPanic{127})
}

// random is the generator of $RANDOM: the minimal standard one, of which bash 5.2 folds the halves together.
type random struct {
	seed   uint32
	last   uint32
	seeded bool
}

func (r *random) next() uint32 {
	seed := r.seed
	if seed == 0 {
		seed = 123459876
	}
	h := int32(seed / 127773)
	t := 16807*(int32(seed)-127773*h) - 2836*h
	if t < 0 {
		t += 0x7fffffff
	}
	r.seed = uint32(t)
	return (r.seed>>16 ^ r.seed&0xffff) & 0x7fff
}

func (sh *Shell) rand() int {
	r := &sh.random
	if !r.seeded {
		*r = random{seed: rand.Uint32(), seeded: true}
	}
	n := r.next()
	for n == r.last {
		n = r.next()
	}
	r.last = n
	return int(n)
}
