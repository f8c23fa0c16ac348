package shell

// declaring is one operand of a declaration command on its way to its variable.
type declaring struct {
	sh          *Shell
	cmd, name   string
	sub         *subscript
	val         string
	arr         *arrayLit
	add, hasVal bool
	on, off     attr
	inherit     bool
	isLocal     bool
}

func (d *declaring) fail(format string, args ...any) int {
	d.sh.errorf(d.cmd+": "+format, args...)
	return 1
}

func (d *declaring) readonly(name string) int {
	if d.cmd == "export" || d.cmd == "readonly" {
		d.sh.errorf("%s: readonly variable", name)
		return 1
	}
	return d.fail("%s: readonly variable", name)
}

func (d *declaring) run(global bool) (status int) {
	if d.on&aNameref != 0 {
		if status := d.checkRef(); status != 0 {
			return status
		}
	}
	f := d.sh.topFunc()
	switch {
	case f == nil || d.cmd == "export" || d.cmd == "readonly":
		return d.existing()
	case global:
		d.sh.globally(d.name, func() { status = d.existing() })
		return status
	}
	return d.local(f)
}

// checkRef looks at the operand of declare -n.
func (d *declaring) checkRef() int {
	switch {
	case d.sub != nil:
		return d.fail("%s[%s]: reference variable cannot be an array", d.name, d.sub.text)
	case d.arr != nil:
		return 0
	case d.hasVal && d.val != "" && refersTo(d.name, d.val):
		if d.sh.topFunc() == nil {
			return d.fail("%s: nameref variable self references not allowed", d.name)
		}
		d.sh.errorf("%s: warning: %s: circular name reference", d.cmd, d.name)
	}
	if d.hasVal && d.val != "" && !d.add && !canRefer(d.val) {
		return d.fail("`%s': invalid variable name for name reference", d.val)
	}
	return 0
}

// local declares a variable of the function f. Only the namerefs of f itself are followed.
func (d *declaring) local(f *frame) int {
	sh, name := d.sh, d.name
	ref := sh.lastRef(name)
	switch {
	case d.on&aNameref != 0 && !d.hasVal && d.on&(aArray|aAssoc) == 0:
		if ref != "" && localIn(f, ref) {
			name = ref
		}
	case (d.on|d.off)&aNameref == 0 && ref != "" && localIn(f, ref) && sh.vars[ref].str != "":
		if r := sh.follow(name, nil); r.sub == nil && r.name != "" {
			name = r.name
		}
	}
	prev := sh.vars[name]
	isNew := !localIn(f, name)
	if prev != nil && prev.attrs&aReadonly != 0 && isNew {
		return d.fail("%s: readonly variable", name)
	}
	sh.makeLocal(f, name)
	if isNew && (d.inherit || sh.opts.shopt(localvarInherit)) && prev != nil {
		c := prev.clone()
		c.owner, c.local = sh, true
		c.attrs &^= aNameref
		sh.hold(c.size())
		sh.vars[name] = c
	}
	if v := sh.vars[name]; v.attrs&(aNameref|aReadonly) == aNameref|aReadonly && v.str != "" && d.off&aNameref != 0 {
		return d.readonly(name)
	}
	d.name, d.isLocal = name, true
	return d.apply()
}

// existing declares a variable that no function has of its own: what the name refers to.
func (d *declaring) existing() int {
	sh := d.sh
	v := sh.vars[d.name]
	if v == nil || v.attrs&aNameref == 0 {
		return d.apply()
	}
	switch {
	case d.on&aNameref != 0:
		return d.apply()
	case d.off&aNameref != 0:
		ref := sh.lastRef(d.name)
		if ref == "" {
			break
		}
		if v = sh.vars[ref]; v.str != "" && v.attrs&aReadonly != 0 {
			return d.readonly(d.name)
		}
		if d.on == 0 && !d.hasVal && d.off == aNameref {
			sh.own(ref).attrs &^= aNameref
			return 0
		}
	case d.hasVal && d.sub != nil:
		sh.dropRef(d.name)
		return d.apply()
	}
	ref := sh.lastRef(d.name)
	if ref == "" || sh.vars[ref].str == "" {
		return d.apply()
	}
	cell := sh.vars[ref].str
	base, text := cutElement(cell)
	if d.off&aNameref != 0 {
		sh.own(ref).attrs &^= aNameref
	}
	switch {
	case text != "" && (d.cmd == "export" || d.cmd == "readonly"):
		d.fail("`%s': not a valid identifier", cell)
		return 0 // as bash has it
	case !isName(base):
		return d.fail("`%s': not a valid identifier", cell)
	case text != "" && d.sub == nil:
		c := compiler{}
		d.sub = c.subscript(text)
	case text != "":
		return d.fail("`%s': not a valid identifier", cell+"["+d.sub.text+"]")
	}
	d.name = base
	if text != "" {
		sh.dropRef(base)
	}
	if d.sub != nil && !d.hasVal && d.on&aAssoc == 0 && (sh.vars[base] == nil || sh.vars[base].attrs&aAssoc == 0) {
		d.on |= aArray
	}
	return d.apply()
}

// refused says what the variable forbids.
func (d *declaring) refused(v *variable) int {
	switch {
	case v.isArray() && d.on&aNameref != 0:
		return d.fail("%s: reference variable cannot be an array", d.name)
	case d.on&aNameref != 0 && v.attrs&aNameref == 0 && v.attrs&aSet != 0 && !d.hasVal && !canRefer(v.str):
		return d.fail("`%s': invalid variable name for name reference", v.str)
	case d.isLocal && v.attrs&aNameref != 0 && (d.on|d.off)&aNameref == 0 && d.arr == nil && d.sub == nil && d.hasVal &&
		!canRefer(d.val):
		return d.fail("`%s': invalid variable name for name reference", d.val)
	case v.attrs&aReadonly != 0 && (d.hasVal || d.off&aReadonly != 0 || d.on&^(aReadonly|aExport) != 0):
		return d.readonly(d.name)
	case d.on&aAssoc != 0 && v.attrs&aArray != 0:
		return d.fail("%s: cannot convert indexed to associative array", d.name)
	case d.on&aArray != 0 && v.attrs&aAssoc != 0:
		return d.fail("%s: cannot convert associative to indexed array", d.name)
	case d.off&(aArray|aAssoc) != 0 && v.isArray():
		return d.fail("%s: cannot destroy array variables in this way", d.name)
	}
	return 0
}

// apply gives the variable its attributes and value.
func (d *declaring) apply() int {
	sh := d.sh
	v := sh.vars[d.name]
	created := v == nil
	if v != nil {
		if status := d.refused(v); status != 0 {
			return status
		}
		if v.attrs&aNameref != 0 && v.str == "" && (d.on|d.off)&aNameref == 0 &&
			(d.sub != nil || d.arr != nil || d.on&(aArray|aAssoc) != 0) {
			sh.own(d.name).attrs &^= aNameref // those are no arrays
		}
	}
	v = sh.own(d.name)
	if v.dyn != nil && d.hasVal && v.assign == nil {
		v.dyn = nil
	}
	d.change(v)
	if v.attrs&aNameref != 0 && d.hasVal && d.arr == nil && d.sub == nil {
		return d.refer(created)
	}
	switch {
	case !d.hasVal:
	case d.arr != nil:
		sh.assignArray(&assign{name: d.name, add: d.add, arr: d.arr})
	case d.sub != nil:
		sh.setElement(d.name, d.sub, d.val, d.add)
	case v.isArray():
		sh.setElement(d.name, &subscript{text: "0", lit: "0", expr: zeroExpr}, d.val, d.add)
	case d.add:
		sh.assign(&assign{name: d.name, add: true, val: litWord(d.val)}, false)
	default:
		sh.setNoRef(d.name, d.val)
	}
	if d.on&aReadonly != 0 {
		sh.own(d.name).attrs |= aReadonly
	}
	return 0
}

// change gives the variable its attributes, but for that of being readonly.
func (d *declaring) change(v *variable) {
	sh, on := d.sh, d.on
	v.attrs &^= d.off &^ (aArray | aAssoc)
	if on&aLower != 0 {
		v.attrs &^= aUpper
	}
	if on&aUpper != 0 {
		v.attrs &^= aLower
	}
	if on&aNameref != 0 {
		v.attrs &^= aConverting
	}
	switch {
	case on&aAssoc != 0 && v.attrs&aAssoc == 0:
		v.assoc = newAssoc()
		if v.attrs&aSet != 0 {
			v.assoc.set("0", v.str)
			v.str = ""
		}
		v.attrs |= aAssoc
		v.attrs &^= aSet
		on &^= aNameref
	case on&aArray != 0 && !v.isArray():
		sh.makeArray(v)
		v.attrs &^= aSet
		if v.arr.len() > 0 {
			v.attrs |= aSet
		}
		on &^= aNameref
	}
	if d.arr != nil {
		on &^= aNameref
	}
	v.attrs |= on &^ (aReadonly | aAssoc | aArray)
}

// refer gives a nameref its value; a new one that cannot have it is gone again.
func (d *declaring) refer(created bool) int {
	sh := d.sh
	v := sh.own(d.name)
	val := d.val
	if d.add {
		val = v.str + val
	}
	val = sh.convert(v, val)
	switch {
	case refersTo(d.name, val) && sh.topFunc() == nil:
		sh.errorf("%s: nameref variable self references not allowed", d.name)
		return 1
	case refersTo(d.name, val):
		sh.circular(d.name)
	case !canRefer(val):
		if !canRefer(d.val) {
			d.fail("`%s': not a valid identifier", d.val)
		}
		if created || v.str == "" {
			sh.unsetVar(d.name)
		}
		return 1
	}
	sh.hold(int64(len(val) - len(v.str)))
	v.setStr(val)
	v.attrs |= aSet | d.on&aReadonly
	return 0
}
