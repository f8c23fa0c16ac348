package shell

import "strings"

func builtinUnset(sh *Shell, args []string) int {
	args = args[1:]
	mode := byte(0)
	for c := range letters(&args) {
		if strings.IndexByte("fvn", c) < 0 {
			return sh.usage("unset", "-"+string(c))
		}
		if mode == 'f' && c == 'v' || mode == 'v' && c == 'f' {
			sh.errorf("unset: cannot simultaneously unset a function and a variable")
			return 1
		}
		mode = c
	}
	status := 0
	for _, a := range args {
		if mode == 'f' {
			if !sh.unsetFunc(a) {
				status = 1
			}
			continue
		}
		name, rest, isSub := strings.Cut(a, "[")
		if !isName(name) {
			if mode == 'v' || isSub {
				sh.errorf("unset: `%s': not a valid identifier", a)
				status = 1
			} else if !sh.unsetFunc(a) {
				status = 1
			}
			continue
		}
		if mode == 'n' {
			if ref := sh.lastRef(name); ref != "" && sh.vars[ref].attrs&aReadonly != 0 {
				sh.errorf("unset: %s: cannot unset: readonly variable", ref)
				status = 1
				continue
			}
			if v := sh.vars[name]; v != nil && v.attrs&aNameref != 0 {
				sh.unsetVar(name)
			}
			continue
		}
		if v := sh.vars[name]; v != nil && v.attrs&aNameref != 0 {
			n, sub := sh.deref(name, nil)
			if name = n; sub != nil && !isSub {
				isSub, rest = true, sub.text+"]"
			}
		}
		v := sh.vars[name]
		if v != nil && v.attrs&aReadonly != 0 {
			sh.errorf("unset: %s: cannot unset: readonly variable", name)
			status = 1
			continue
		}
		if isSub {
			if !sh.unsetElement(name, strings.TrimSuffix(rest, "]")) {
				status = 1
			}
			continue
		}
		if v == nil {
			if mode == 0 && !sh.unsetFunc(name) {
				status = 1
			}
			continue
		}
		sh.unsetVar(name)
	}
	return status
}

func (sh *Shell) unsetFunc(name string) bool {
	if sh.readonlyFuncs[name] {
		sh.errorf("unset: %s: cannot unset: readonly function", name)
		return false
	}
	delete(sh.ownFuncs(), name)
	return true
}

func (sh *Shell) unsetElement(name, text string) bool {
	v := sh.vars[name]
	if v == nil {
		return true
	}
	c := compiler{}
	sub := c.subscript(text)
	if !v.isArray() {
		if v.attrs&aSet != 0 && text == "0" {
			sh.unsetVar(name)
			return true
		}
		sh.errorf("unset: %s: not an array variable", name)
		return false
	}
	if sub.all != 0 && v.attrs&aAssoc == 0 {
		v = sh.own(name)
		sh.hold(-v.arr.bytes)
		v.arr = &indexed{}
		return true
	}
	if v.dyn != nil {
		return true // aliases and known commands stay
	}
	if v.attrs&aAssoc != 0 {
		key := text
		if _, ok := v.assoc.m[key]; !ok {
			key = sh.subKey(sub)
		}
		v = sh.own(name)
		old := v.assoc.bytes
		v.assoc.unset(key)
		sh.hold(v.assoc.bytes - old)
		return true
	}
	sh.running = "" // it is not named in an error of the index
	i := sh.subIndex(name, sub)
	if i < 0 {
		if i += v.arr.last() + 1; i < 0 {
			sh.errorf("unset: [%s]: bad array subscript", text)
			return false
		}
	}
	v = sh.own(name)
	old := v.arr.bytes
	v.arr.unset(i)
	sh.hold(v.arr.bytes - old)
	return true
}
