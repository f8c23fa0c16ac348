package shell

import "strings"

// maxNamerefs is how many namerefs refer to each other before that counts as a circle.
const maxNamerefs = 8

// reference is what a name refers to: no name is a circle.
type reference struct {
	name   string
	sub    *subscript // of an element
	global bool       // the variable that the locals of functions hide: so ends a circle of local namerefs
}

// follow finds what a name refers to. An unset nameref refers to itself.
func (sh *Shell) follow(name string, sub *subscript) reference {
	from := name
	for i := 0; i <= maxNamerefs; i++ {
		v := sh.vars[name]
		if v == nil || v.attrs&aNameref == 0 || v.str == "" {
			return reference{name: name, sub: sub}
		}
		if base, text := cutElement(v.str); text != "" {
			if sub == nil {
				c := compiler{}
				sub = c.subscript(text)
			}
			name = base
			continue
		}
		if v.str == name || v.str == from {
			sh.circular(from)
			if sh.topFunc() != nil && sh.vars[v.str].local {
				return reference{name: v.str, sub: sub, global: true}
			}
			return reference{}
		}
		name = v.str
	}
	sh.circular(from)
	return reference{}
}

func (sh *Shell) circular(name string) {
	sh.errorf("warning: %s: circular name reference", name)
}

// deref is follow for those that cannot reach a hidden variable.
func (sh *Shell) deref(name string, sub *subscript) (string, *subscript) {
	if v := sh.vars[name]; v == nil || v.attrs&aNameref == 0 {
		return name, sub
	}
	r := sh.follow(name, sub)
	if r.global {
		return "", nil
	}
	return r.name, r.sub
}

// lastRef is the last nameref of the chain that begins at name, "" when there is none.
func (sh *Shell) lastRef(name string) (last string) {
	for i := 0; i < maxNamerefs; i++ {
		v := sh.vars[name]
		if v == nil || v.attrs&aNameref == 0 {
			return last
		}
		if last = name; v.str == "" {
			return last
		}
		name = v.str
	}
	return ""
}

// cutElement splits the name of an element; text is "" for anything else.
func cutElement(s string) (base, text string) {
	n, rest, ok := strings.Cut(s, "[")
	if ok && strings.HasSuffix(rest, "]") && isName(n) {
		return n, rest[:len(rest)-1]
	}
	return s, ""
}

// canRefer reports whether a nameref may have a value: a name or an element.
func canRefer(s string) bool {
	base, _ := cutElement(s)
	return isName(base)
}

// refersTo reports whether a value makes a nameref refer to itself.
func refersTo(name, val string) bool {
	base, _ := cutElement(val)
	return base == name
}

// globally does something while the locals of functions do not hide a variable.
func (sh *Shell) globally(name string, do func()) {
	for _, f := range sh.frames {
		for i := range f.locals {
			if f.locals[i].name != name {
				continue
			}
			hidden := sh.vars[name]
			sh.uncover(name, f.locals[i].prev)
			defer func() {
				saved := append([]saved{}, f.locals...) // subshells share them
				saved[i].prev = sh.vars[name]
				f.locals = saved
				sh.vars[name] = hidden
			}()
			do()
			return
		}
	}
	do()
}

func (sh *Shell) uncover(name string, prev *variable) {
	if prev == nil {
		delete(sh.vars, name)
	} else {
		sh.vars[name] = prev
	}
}

// setRef assigns through a nameref.
func (sh *Shell) setRef(name, val string) {
	last := sh.lastRef(name)
	if last == "" { // a circle
		switch r := sh.follow(name, nil); {
		case r.global:
			sh.globally(r.name, func() { sh.setNoRef(r.name, val) })
		case sh.running == "":
			panic(abortPanic{status: 1, errexit: true})
		}
		return
	}
	cell := sh.vars[last].str
	base, text := cutElement(cell)
	switch v := sh.vars[base]; {
	case cell == "": // it is told what to refer to
		sh.bindRef(last, val)
	case !isName(base) || text != "" && v != nil && v.attrs&aNameref != 0 && v.local:
		sh.notIdentifier(cell)
	case text != "":
		sh.dropRef(base)
		c := compiler{}
		sh.setElement(base, c.subscript(text), val, false)
	default:
		sh.setNoRef(base, val)
	}
}

// bindRef gives an unset nameref its value.
func (sh *Shell) bindRef(name, val string) bool {
	v := sh.vars[name]
	if v != nil && v.attrs&aReadonly != 0 {
		sh.readonlyErr(name)
	}
	if !canRefer(val) {
		sh.notIdentifier(val)
		return false
	}
	if refersTo(name, val) {
		if sh.topFunc() == nil {
			sh.errorf("%s: nameref variable self references not allowed", name)
			return false
		}
		sh.circular(name)
	}
	v = sh.own(name)
	sh.hold(int64(len(val) - len(v.str)))
	v.setStr(val)
	v.attrs |= aSet
	return true
}

// notIdentifier refuses what a nameref has; an assignment of its own ends the line.
func (sh *Shell) notIdentifier(val string) {
	who := sh.running
	if who != "" {
		who += ": "
	}
	sh.errorf("%s`%s': not a valid identifier", who, val)
	if sh.running == "" {
		panic(abortPanic{status: 1, errexit: true, soft: true})
	}
	sh.misuse(1)
}

// dropRef makes a plain variable of a nameref: those are no arrays.
func (sh *Shell) dropRef(name string) {
	if v := sh.vars[name]; v == nil || v.attrs&aNameref == 0 {
		return
	}
	sh.errorf("warning: %s: removing nameref attribute", name)
	v := sh.own(name)
	sh.hold(-int64(len(v.str)))
	v.setStr("")
	v.attrs &^= aNameref | aSet
}

// arrayTarget is the variable that an assignment to an array or an element means, which may be there only through a
// nameref.
func (sh *Shell) arrayTarget(name string, whole bool) (string, bool) {
	v := sh.vars[name]
	if v == nil || v.attrs&aNameref == 0 {
		return name, true
	}
	if r := sh.follow(name, nil); r.name != "" && r.sub == nil && !r.global {
		if v := sh.vars[r.name]; v != nil && v.attrs&aNameref == 0 {
			return r.name, true
		}
	}
	last := sh.lastRef(name)
	if last == "" {
		return "", false
	}
	if v = sh.vars[last]; v.str == "" {
		if whole {
			sh.dropRef(last)
			return last, true
		}
		sh.notIdentifier("")
		return "", false
	}
	if !isName(v.str) {
		sh.notIdentifier(v.str)
		return "", false
	}
	return v.str, true
}
