package shell

import (
	"maps"
	"slices"
	"strings"
)

// operand is one operand of declare: a word, or an assignment the parser saw.
type operand struct {
	word string
	a    *assign
	val  string // of a, when it is no array: all operands are expanded before the first is assigned
	made bool   // a is an array and was assigned already
}

// text is the operand as one word, without a subscript.
func (o operand) text() string {
	switch {
	case o.a == nil:
		return o.word
	case o.a.naked || o.a.arr != nil:
		return o.a.name
	case o.a.sub != nil:
		return o.a.name + "[" + o.a.sub.text + "]" + op(o.a) + o.val
	}
	return o.a.name + op(o.a) + o.val
}

// declOperands expands the operands of a declaration command. Arrays are assigned in the course of that, so that later
// operands see them and attributes such as readonly come after them; ok is false when that failed.
func (sh *Shell) declOperands(name string, as []*assign) (out []operand, ok bool) {
	out = make([]operand, 0, len(as))
	for _, a := range as {
		switch {
		case a.name == "":
			for _, w := range sh.fields([]*word{a.val}) {
				out = append(out, operand{word: w})
			}
		case a.naked && a.sub == nil:
			out = append(out, operand{word: a.name})
		case a.naked:
			out = append(out, operand{a: a})
		case a.arr != nil:
			o := operand{a: a}
			d, _, _ := declOptions(name, out)
			if v := sh.vars[a.name]; v != nil && v.attrs&aReadonly != 0 && sh.topFunc() == nil {
				sh.readonlyErr(a.name)
			}
			const early = aArray | aAssoc | aInteger | aLower | aUpper | aCapital
			sh.traceArray = sh.opts.get('x')
			if sh.declareOne(name, o, d.on&early, 0, d.global, d.inherit) != 0 {
				sh.traceArray, sh.status = false, 1
				return nil, false
			}
			o.made = true
			out = append(out, o)
		default:
			out = append(out, operand{a: a, val: sh.expandStr(a.val)})
		}
	}
	return out, true
}

func builtinDeclare(sh *Shell, args []string) int {
	ops := make([]operand, len(args)-1)
	for i, a := range args[1:] {
		ops[i].word = a
	}
	return sh.declare(args[0], ops)
}

// declarations are the builtins whose arguments may be assignments of arrays.
var declarations = []string{"declare", "typeset", "local", "export", "readonly"}

// declared is what the options of a declaration command say.
type declared struct {
	on, off                                            attr
	print, funcs, funcNames, global, inherit, unexport bool
}

// declOptions reads the options of a declaration command; rest are the operands behind them and bad is an option it
// does not know.
func declOptions(name string, ops []operand) (d declared, rest []operand, bad string) {
	valid := "aAfFgiIlnrtuxpc"
	switch name {
	case "export":
		valid = "fnp"
	case "readonly":
		valid = "aAfp"
	}
	k := 0
	for ; k < len(ops); k++ {
		w := ops[k].word
		if ops[k].a != nil || len(w) < 2 || w[0] != '-' && w[0] != '+' {
			break
		}
		if w == "--" {
			k++
			break
		}
		if w[0] == '+' && (name == "export" || name == "readonly") {
			break
		}
		set := &d.on
		if w[0] == '+' {
			set = &d.off
		}
		for _, c := range []byte(w[1:]) {
			if strings.IndexByte(valid, c) < 0 {
				return d, nil, w[:1] + string(c)
			}
			switch c {
			case 'a':
				*set |= aArray
			case 'A':
				*set |= aAssoc
			case 'i':
				*set |= aInteger
			case 'l':
				*set |= aLower
			case 'u':
				*set |= aUpper
			case 'c':
				*set |= aCapital
			case 'n':
				if name == "export" {
					d.unexport = true
				} else {
					*set |= aNameref
				}
			case 'r':
				*set |= aReadonly
			case 't':
				*set |= aTrace
			case 'x':
				*set |= aExport
			case 'f':
				d.funcs = true
			case 'F':
				d.funcs, d.funcNames = true, true
			case 'g':
				d.global = true
			case 'I':
				d.inherit = true
			case 'p':
				d.print = true
			}
		}
	}
	switch name {
	case "export":
		if d.unexport {
			d.off |= aExport
		} else {
			d.on |= aExport
		}
	case "readonly":
		d.on |= aReadonly
	}
	if d.on&(aLower|aUpper) == aLower|aUpper {
		d.on &^= aLower | aUpper
	}
	return d, ops[k:], ""
}

// declare is declare, typeset, local, export and readonly.
func (sh *Shell) declare(name string, ops []operand) int {
	if name == "local" && sh.topFunc() == nil {
		sh.errorf("%s", sh.either("local: can only be used in a function", "local: not in a function"))
		return sh.misuse(1)
	}
	d, ops, bad := declOptions(name, ops)
	if bad != "" {
		return sh.usage(name, bad)
	}
	if d.funcs {
		return sh.declareFuncs(name, ops, d.funcNames, d.print, d.on, d.off)
	}
	if len(ops) == 0 || d.print && name != "export" && name != "readonly" {
		return sh.printVars(name, ops, d.on, d.print, d.global)
	}
	status := 0
	for _, o := range ops {
		if st := sh.declareOne(name, o, d.on, d.off, d.global, d.inherit); st != 0 {
			status = st
		}
	}
	return status
}

// funcFlags are the options with which declare shows a function's attributes.
func (sh *Shell) funcFlags(f *funcDef) string {
	flags := "-f"
	if sh.readonlyFuncs[f.name] {
		flags += "r"
	}
	if f.traced {
		flags += "t"
	}
	if f.exported {
		flags += "x"
	}
	return flags
}

func (sh *Shell) declareFuncs(name string, ops []operand, namesOnly, print bool, on, off attr) int {
	if len(ops) == 0 {
		for _, n := range slices.Sorted(maps.Keys(sh.funcs)) {
			f := sh.funcs[n]
			if (name == "export" || on&aExport != 0) && !f.exported {
				continue
			}
			if on&aReadonly != 0 && !sh.readonlyFuncs[n] {
				continue
			}
			flags := sh.funcFlags(f)
			if namesOnly {
				sh.out("declare " + flags + " " + n + "\n")
			} else {
				sh.out(sh.funcText(f) + "\n")
				if flags != "-f" {
					sh.out("declare " + flags + " " + n + "\n")
				}
			}
		}
		return 0
	}
	status := 0
	for _, o := range ops {
		fn := o.word
		if o.a != nil {
			fn = o.text()
		}
		if strings.Contains(fn, "=") && !print && name != "export" && name != "readonly" {
			sh.errorf("%s: cannot use `-f' to make functions", name)
			return 1
		}
		f := sh.funcs[fn]
		if f == nil {
			if name == "export" || name == "readonly" {
				sh.errorf("%s: %s: not a function", name, fn)
			} else if print {
				sh.errorf("%s: %s: not found", name, fn)
			}
			status = 1
			continue
		}
		switch {
		case on&aExport != 0 || off&aExport != 0:
			c := *f
			c.exported = on&aExport != 0
			sh.ownFuncs()[o.word] = &c
		case on&aReadonly != 0:
			m := maps.Clone(sh.readonlyFuncs)
			if m == nil {
				m = map[string]bool{}
			}
			m[o.word] = true
			sh.readonlyFuncs = m
		case namesOnly:
			if sh.opts.shopt(extdebug) {
				sh.out(f.name + " " + itoa(f.line) + " " + f.source + "\n")
			} else {
				sh.out(f.name + "\n")
			}
		case on&aTrace != 0 || off&aTrace != 0:
			c := *f
			c.traced = on&aTrace != 0
			sh.ownFuncs()[o.word] = &c
		default:
			sh.out(sh.funcText(f) + "\n")
			if flags := sh.funcFlags(f); print && flags != "-f" {
				sh.out("declare " + flags + " " + f.name + "\n")
			}
		}
	}
	return status
}

// declText is a variable as declare -p prints it.
func (sh *Shell) declText(name string, v *variable) string {
	l := v.letters()
	if l == "" {
		l = "-"
	}
	s := "declare -" + l + " " + name
	if v.isArray() {
		if v.attrs&aSet == 0 && len(v.elements()) == 0 {
			return s
		}
		return s + "=" + sh.arrayText(v)
	}
	if v.attrs&aSet == 0 {
		return s
	}
	return s + "=" + quoteDouble(v.str)
}

// arrayText is the value of an array as an array literal.
func (sh *Shell) arrayText(v *variable) string {
	var b strings.Builder
	b.WriteByte('(')
	if v.attrs&aAssoc != 0 {
		for _, k := range v.assoc.keys() {
			sh.readStep()
			b.WriteString("[" + quoteKey(k) + "]=" + quoteDouble(v.assoc.m[k].val) + " ")
		}
	} else {
		keys, vals := v.keyNames(), v.arr.values()
		for i, k := range keys {
			sh.readStep()
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString("[" + k + "]=" + quoteDouble(vals[i]))
		}
	}
	b.WriteByte(')')
	return b.String()
}

func quoteKey(k string) string {
	if k == "" || needsANSI(k) || hasShellMeta(k) || k == "@" || k == "*" || strings.ContainsAny(k, "]") {
		return quoteDouble(k)
	}
	return k
}

func (sh *Shell) printVars(name string, ops []operand, on attr, print, global bool) int {
	if len(ops) > 0 {
		status := 0
		for _, o := range ops {
			n := o.word
			if o.a != nil {
				if n = o.text(); o.a.naked && o.a.sub != nil {
					n += "[" + o.a.sub.text + "]"
				}
			}
			v := sh.lookup(n)
			if v == nil {
				sh.errorf("%s: %s: not found", name, n)
				status = 1
				continue
			}
			sh.out(sh.declText(n, v) + "\n")
		}
		return status
	}
	local := map[string]bool{}
	if name == "local" {
		for _, l := range sh.topFunc().locals {
			local[l.name] = true
		}
	}
	for _, n := range slices.Sorted(maps.Keys(sh.vars)) {
		v := sh.lookup(n)
		if name == "local" {
			if !local[n] {
				continue
			}
		}
		if v.attrs&on != on {
			continue
		}
		if name == "declare" || name == "typeset" {
			if on == 0 && !print {
				switch {
				case v.attrs&aSet == 0:
				case v.isArray():
					sh.out(n + "=" + sh.arrayText(v) + "\n")
				default:
					sh.out(n + "=" + setQuote(v.str) + "\n")
				}
				continue
			}
		}
		if v.attrs&(aSet|aExport|aReadonly|aInteger|aArray|aAssoc|aNameref) == 0 && !local[n] {
			continue
		}
		text := sh.declText(n, v)
		if sh.posix && (name == "export" || name == "readonly") {
			_, rest, _ := strings.Cut(strings.TrimPrefix(text, "declare "), " ")
			if v.isArray() {
				rest = "-" + v.letters()[:1] + " " + rest
			}
			text = name + " " + rest
		}
		sh.out(text + "\n")
	}
	if (name == "declare" || name == "typeset") && on == 0 && !print {
		for _, n := range slices.Sorted(maps.Keys(sh.funcs)) {
			sh.out(sh.funcText(sh.funcs[n]) + "\n")
		}
	}
	return 0
}

// declareOne gives one name its attributes and value.
func (sh *Shell) declareOne(cmd string, o operand, on, off attr, global, inherit bool) int {
	var name, val string
	var sub *subscript
	var add, hasVal bool
	var arr *arrayLit
	if o.a != nil {
		name, sub, add, arr = o.a.name, o.a.sub, o.a.add, o.a.arr
		hasVal = !o.a.naked && !o.made
		if hasVal && arr == nil {
			val = o.val
		}
	} else {
		var lhs string
		lhs, val, hasVal = strings.Cut(o.word, "=")
		if hasVal && strings.HasSuffix(lhs, "+") {
			lhs, add = lhs[:len(lhs)-1], true
		}
		name = lhs
		if n, rest, ok := strings.Cut(lhs, "["); ok && strings.HasSuffix(rest, "]") {
			name = n
			c := compiler{}
			sub = c.subscript(rest[:len(rest)-1])
		}
	}
	if hasVal && arr == nil && sub == nil && on&aNameref == 0 && len(val) > 1 && val[0] == '(' && val[len(val)-1] == ')' {
		// A value in parentheses is an array when the variable is one.
		isArr := on&(aArray|aAssoc) != 0
		if v := sh.vars[name]; v != nil && v.isArray() {
			isArr = true
		}
		if isArr && isName(name) {
			arr = sh.parseArrayText(name, val)
		}
	}
	if name == "-" && cmd == "local" && !hasVal {
		if f := sh.topFunc(); f.opts == nil {
			o := sh.opts
			f.opts = &o
		}
		return 0
	}
	if sub != nil && !hasVal && on&aAssoc == 0 {
		if v := sh.vars[name]; v == nil || v.attrs&aAssoc == 0 {
			on |= aArray
		}
	}
	if sub != nil && (cmd == "export" || cmd == "readonly") {
		sh.errorf("%s: `%s[%s]': not a valid identifier", cmd, name, sub.text)
		return 1
	}
	if !isName(name) {
		sh.errorf("%s: `%s': not a valid identifier", cmd, cmpOr(o.word, name))
		return 1
	}
	if sh.opts.get('x') && o.a != nil && hasVal {
		if arr == nil && (cmd == "export" || cmd == "readonly") {
			sh.trace(name + "=" + traceQuote2(val))
		}
	}
	d := declaring{sh: sh, cmd: cmd, name: name, sub: sub, val: val, arr: arr, add: add, hasVal: hasVal, on: on, off: off,
		inherit: inherit}
	return d.run(global)
}

func localIn(f *frame, name string) bool {
	for _, l := range f.locals {
		if l.name == name {
			return true
		}
	}
	return false
}

// parseArrayText parses "(…)" given as a value, as declare does with arrays.
func (sh *Shell) parseArrayText(name, val string) *arrayLit {
	p := sh.parse(name+"="+val, 0)
	if p.err != nil || len(p.groups) != 1 || len(p.groups[0]) != 1 {
		return nil
	}
	s, ok := p.groups[0][0].cmd.(*simpleCmd)
	if !ok || len(s.args) != 0 || len(s.assigns) != 1 {
		return nil
	}
	return s.assigns[0].arr
}
