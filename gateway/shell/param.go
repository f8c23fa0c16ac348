package shell

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pgbox/pgbox/gateway/shell/text/pattern"
	"mvdan.cc/sh/v3/syntax"
)

// special gives the value of $? $# $$ $! $- $0 and the positional parameters.
func (sh *Shell) special(name string) (val string, set, known bool) {
	switch c := name[0]; {
	case '0' <= c && c <= '9':
		n, err := strconv.Atoi(name)
		if err != nil {
			return "", false, true
		}
		if n == 0 {
			return sh.name, true, true
		}
		if n <= len(sh.args) {
			return sh.args[n-1], true, true
		}
		return "", false, true
	case len(name) > 1:
	case c == '?':
		return itoa(sh.status), true, true
	case c == '#':
		return itoa(len(sh.args)), true, true
	case c == '$':
		return itoa(sh.mainPID()), true, true
	case c == '!':
		if sh.lastBG == 0 {
			return "", false, true
		}
		return itoa(sh.lastBG), true, true
	case c == '-':
		return sh.opts.letters(), true, true
	}
	return "", false, false
}

// value is what a parameter holds before its operators apply.
type value struct {
	s      string
	set    bool
	list   []string
	isList bool
	star   bool
	// changed says that an operator made it: where nothing is split, the list is then joined as "$*" is.
	changed bool
}

// null reports whether :- and friends see nothing.
func (sh *Shell) null(v value, quoted bool) bool {
	switch {
	case !v.isList:
		return v.s == ""
	case len(v.list) < 2:
		return len(v.list) == 0 || v.list[0] == ""
	case quoted && v.star: // they are joined, perhaps by nothing
		sh.loadIFS()
		return sh.ifs.first == "" && !slices.ContainsFunc(v.list, func(s string) bool { return s != "" })
	}
	return false
}

func (sh *Shell) paramValue(name string, sub *subscript) value {
	if name == "@" || name == "*" {
		return value{list: sh.args, isList: true, star: name == "*", set: len(sh.args) > 0}
	}
	if s, set, known := sh.special(name); known {
		return value{s: s, set: set}
	}
	if v := sh.vars[name]; sub == nil && (v == nil || v.attrs&aNameref == 0 || v.str == "" ||
		!strings.HasSuffix(v.str, "]")) {
		s, ok := sh.get(name)
		return value{s: s, set: ok}
	}
	name, sub = sh.deref(name, sub)
	if sub == nil {
		s, ok := sh.get(name)
		return value{s: s, set: ok}
	}
	if sub.all != 0 {
		v := sh.lookup(name)
		out := value{isList: true, star: sub.all == '*'}
		if v != nil {
			out.list = v.elements()
		}
		out.set = len(out.list) > 0
		return out
	}
	s, ok := sh.element(name, sub)
	return value{s: s, set: ok}
}

// elements lists the values of an array, or the one of a scalar.
func (v *variable) elements() []string {
	switch {
	case v.attrs&aAssoc != 0:
		return v.assoc.values()
	case v.attrs&aArray != 0:
		return v.arr.values()
	case v.attrs&aSet != 0:
		return []string{v.str}
	}
	return nil
}

// param expands ${…}. Words within words count as a level of nesting: the functions that they call expand as many
// again.
func (e *expander) param(p *paramPart, quoted bool) {
	sh := e.sh
	if p.arg != nil || p.sub != nil || p.off != nil || p.orig != nil {
		sh.enter()
		defer sh.leave()
	}
	name, sub := p.name, p.sub
	if p.names != 0 {
		e.emit(value{isList: true, list: sh.varNames(p.name), star: p.names == '*'}, quoted)
		return
	}
	if p.excl {
		if sub != nil && sub.all != 0 && !p.hasOp && !p.slice && !p.repl {
			var keys []string
			n, _ := sh.deref(name, nil)
			if v := sh.lookup(n); v != nil {
				keys = v.keyNames()
			}
			e.emit(value{isList: true, list: keys, star: sub.all == '*'}, quoted)
			return
		}
		if v := sh.vars[name]; v != nil && v.attrs&aNameref != 0 && v.str != "" && sub == nil {
			target := v.str
			for n := 0; n < maxNamerefs; n++ {
				if v = sh.vars[target]; v == nil || v.attrs&aNameref == 0 {
					break
				}
				target = v.str
			}
			e.text(target, quoted)
			return
		}
		target := sh.paramValue(name, sub)
		t := target.s
		if target.isList {
			t = strings.Join(target.list, " ")
		}
		if t == "" {
			if name == "@" || name == "*" {
				return
			}
			if !target.set {
				va := sh.lookup(name)
				if sub == nil && va != nil && va.isArray() {
					e.text("", quoted)
					return
				}
				if va != nil && va.attrs&aNameref == 0 && sub != nil {
					return
				}
				if sub != nil {
					name += "[" + sub.text + "]"
				}
				sh.fatal("%s: invalid indirect expansion", name)
			}
			sh.fatal("%s: invalid variable name", t)
		}
		name, sub = sh.indirect(t)
	}
	if p.length {
		e.text(itoa(sh.paramLength(p, name, sub)), quoted)
		return
	}
	if sub == nil && !p.hasOp && !p.slice && !p.repl && !p.excl && p.toggle == 0 {
		if v := sh.vars[name]; v != nil && v.dyn == nil && v.attrs&(aSet|aNameref|aArray|aAssoc) == aSet {
			e.text(v.str, quoted)
			return
		}
	}
	v := sh.paramValue(name, sub)
	if p.hasOp {
		switch p.op {
		case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
			if v.set && (p.op == syntax.AlternateUnset || !sh.null(v, quoted)) {
				e.arg(p.arg, quoted)
			} else if v.isList && quoted && !v.star && len(v.list) == 0 {
				e.emptyList = true
			}
			return
		case syntax.DefaultUnset, syntax.DefaultUnsetOrNull:
			if !v.set || p.op == syntax.DefaultUnsetOrNull && sh.null(v, quoted) {
				e.arg(p.arg, quoted)
				return
			}
			e.emit(v, quoted)
			return
		case syntax.AssignUnset, syntax.AssignUnsetOrNull:
			if !v.set || p.op == syntax.AssignUnsetOrNull && sh.null(v, quoted) {
				if !isName(name) || sub != nil && sub.all != 0 {
					sh.fatal("%s: cannot assign in this way", "$"+name)
				}
				s := sh.argStr(p.arg, quoted)
				if sub != nil {
					sh.setElement(name, sub, s, false)
				} else {
					sh.setVar(name, s)
				}
				v = sh.paramValue(name, sub)
			}
			e.emit(v, quoted)
			return
		case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
			if !v.set || p.op == syntax.ErrorUnsetOrNull && sh.null(v, quoted) {
				msg := sh.argStr(p.arg, quoted)
				if msg == "" {
					msg = sh.either("parameter null or not set", "parameter not set or null")
					if p.op == syntax.ErrorUnset {
						msg = "parameter not set"
					}
				}
				if sub != nil {
					name += "[" + sub.text + "]"
				}
				sh.errorf("%s: %s", name, msg)
				sh.exitExpansion()
			}
			e.emit(v, quoted)
			return
		}
	}
	if !v.set && sh.opts.get('u') && !(v.isList && (p.name == "@" || p.name == "*" || sub != nil)) {
		n := name
		if sub != nil {
			n += "[" + sub.text + "]"
		}
		if strings.HasPrefix(p.src, "${") { // shown without the dollar, even $1
			sh.errorf(sh.either("%s: unbound variable", "%s: parameter not set"), n)
			sh.exitExpansion()
		}
		sh.unbound(n)
	}
	v.changed = p.repl || p.hasOp || p.toggle > 0 || p.slice && quoted
	switch {
	case p.slice:
		if v.set || v.isList {
			was := v.changed
			v = sh.slice(p, name, sub, v)
			v.changed = was
		}
	case p.repl:
		if v.set || v.isList {
			v = sh.replace(p, v)
		}
	case p.hasOp:
		v = sh.operate(p, name, sub, v)
	case p.toggle > 0 && (v.set || v.isList):
		var cp *pattern.Pattern
		if pat := sh.expandPattern(p.arg); pat != "" {
			var release func()
			cp, release = sh.pattern(pat, sh.patternFlags(false))
			defer release()
		}
		v = v.each(func(s string) string { return sh.mapCase(s, p.toggle == 2, cp, swapCase) })
	}
	e.emit(v, quoted)
}

// indirect reads the name that ${!x} refers to.
func (sh *Shell) indirect(t string) (string, *subscript) {
	if n, rest, ok := strings.Cut(t, "["); ok && strings.HasSuffix(rest, "]") && isName(n) {
		c := compiler{}
		return n, c.subscript(rest[:len(rest)-1])
	}
	if isName(t) || len(t) == 1 && strings.IndexByte("@*#?-$!", t[0]) >= 0 {
		return t, nil
	}
	if _, err := strconv.Atoi(t); err == nil && t[0] != '-' && t[0] != '+' {
		return t, nil
	}
	sh.fatal("%s: invalid variable name", t)
	return "", nil
}

// emit adds a value, joined or as fields.
func (e *expander) emit(v value, quoted bool) {
	if !v.isList {
		e.text(v.s, quoted)
		return
	}
	sh := e.sh
	if sh.ifsChanged || sh.ifs.first == "" && !sh.ifs.null {
		sh.loadIFS()
	}
	sh.ticks += int64(len(v.list) >> 4)
	switch {
	case quoted && v.star && e.inDoc:
		e.quoted(strings.Join(v.list, " "))
	case quoted && v.star:
		e.quoted(strings.Join(v.list, sh.ifs.first))
	case !e.split:
		sep := " "
		if v.star || v.changed && !sh.ifs.null {
			sep = sh.ifs.first
		}
		s := strings.Join(v.list, sep)
		if quoted {
			e.quoted(s)
		} else {
			e.splitText(s)
		}
	case quoted:
		if len(v.list) == 0 {
			e.emptyList = true
			return
		}
		for i, s := range v.list {
			if i > 0 {
				e.active = true
				e.end()
				e.afterWS = false
			}
			e.quoted(s)
			e.active = true
		}
	case sh.ifs.hard:
		// Such separators keep empty elements, and merge with the white space between two.
		e.afterWS = false
		e.splitText(strings.Join(v.list, sh.ifs.first))
	default:
		for i, s := range v.list {
			if i > 0 && e.active {
				e.end()
			}
			e.afterWS = false
			e.splitText(s)
		}
	}
}

// arg expands the word of :- and :+ in place.
func (e *expander) arg(w *word, quoted bool) {
	if w == nil || len(w.parts) == 0 {
		if quoted {
			e.quoted("")
		}
		return
	}
	if quoted {
		list := e.emptyList
		e.parts(w.parts, true)
		e.emptyList = list // a "$@" in the word of a parameter leaves an empty one
		return
	}
	for _, p := range w.parts {
		if l, ok := p.(*litPart); ok {
			e.splitText(l.s)
			continue
		}
		e.parts([]part{p}, false)
	}
}

func (sh *Shell) argStr(w *word, quoted bool) string {
	if w == nil {
		return ""
	}
	if w.isLit {
		return w.lit
	}
	return sh.joinParts(w.parts)
}

func (v *variable) keyNames() []string {
	switch {
	case v.attrs&aAssoc != 0:
		return v.assoc.keys()
	case v.attrs&aArray != 0:
		idx := v.arr.indices()
		out := make([]string, len(idx))
		for i, k := range idx {
			out[i] = strconv.FormatInt(k, 10)
		}
		return out
	case v.attrs&aSet != 0:
		return []string{"0"}
	}
	return nil
}

// varNames lists the set variables whose names begin with prefix, sorted.
func (sh *Shell) varNames(prefix string) []string {
	var out []string
	for n, v := range sh.vars {
		if strings.HasPrefix(n, prefix) && (v.attrs&aSet != 0 || v.dyn != nil || v.isArray()) {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

func (sh *Shell) paramLength(p *paramPart, name string, sub *subscript) int {
	if name == "@" || name == "*" {
		return len(sh.args)
	}
	if sub == nil && strings.Contains(sh.target(name), "[") {
		return 0 // so is bash: it looks for a variable of that name
	}
	if name, sub := sh.deref(name, sub); sub != nil && sub.all == 0 {
		switch va := sh.lookup(name); {
		case va == nil:
			return 0
		case va.attrs&aAssoc == 0 && sh.fromEnd(va, sh.subIndex(name, sub)) < 0:
			// Unlike anywhere else, this ends the command.
			sh.fatal("%s]: bad array subscript", sub.text)
		}
	}
	v := sh.paramValue(name, sub)
	if v.isList {
		if !v.set && sh.opts.get('u') && sh.lookup(name) == nil {
			sh.fatal("%s: unbound variable", name)
		}
		return len(v.list)
	}
	if !v.set && sh.opts.get('u') {
		if sub != nil {
			name += "[" + sub.text + "]"
		}
		sh.unbound(name)
	}
	return sh.length(v.s)
}

// slice is ${x:offset:length}.
func (sh *Shell) slice(p *paramPart, name string, sub *subscript, v value) value {
	who := name + ": "
	if sub != nil {
		who = name + "[" + sub.text + "]: "
	}
	off := sh.evalArith(p.off, who)
	if n, s := sh.deref(name, nil); s == nil {
		name = n
	}
	if v.isList && len(v.list) == 1 {
		if va := sh.lookup(name); va != nil && !va.isArray() {
			v = value{s: v.list[0], set: true}
			if n := int64(sh.length(v.s)); off > n || off < -n || n == 0 {
				return value{isList: true}
			}
		}
	}
	if !v.isList {
		n := int64(sh.length(v.s))
		if off < 0 {
			off += n
		}
		if off < 0 || off > n {
			return value{set: v.set}
		}
		end := n
		if p.len != nil { // it is not looked at when there is nothing to cut
			if length := sh.evalArith(p.len, who); length < 0 {
				if end = n + length; end < off {
					sh.discard("%s: substring expression < 0", strings.TrimSpace(p.len.text))
				}
			} else {
				end = min(n, off+min(length, n))
			}
		}
		return value{s: sh.characters(v.s, int(off), int(end)), set: v.set}
	}
	list := v.list
	va := sh.lookup(name)
	if name == "@" || name == "*" {
		n := int64(len(list)) + 1
		if off < 0 {
			off += n
		}
		if off < 0 || off > n {
			return value{isList: true, star: v.star}
		}
		if off == 0 {
			list = append([]string{sh.name}, list...)
		} else {
			off--
		}
	} else if va != nil && va.attrs&aArray != 0 {
		if off < 0 {
			off += va.arr.last() + 1
		}
		if off < 0 || off > va.arr.last() {
			return value{isList: true, star: v.star}
		}
		idx := va.arr.indices()
		k, _ := slices.BinarySearch(idx, off)
		off = int64(k)
	} else {
		// An associative array counts from one, and zero means the same.
		if off < 0 {
			if off += int64(len(list)) + 1; off < 0 {
				return value{isList: true, star: v.star}
			}
		}
		off = max(off-1, 0)
	}
	if off > int64(len(list)) {
		off = int64(len(list))
	}
	list = list[off:]
	if p.len != nil {
		length := sh.evalArith(p.len, who)
		if length < 0 {
			sh.discard("%s: substring expression < 0", strings.TrimSpace(p.len.text))
		}
		list = list[:min(length, int64(len(list)))]
	}
	return value{isList: true, star: v.star, list: list, set: len(list) > 0}
}

func (v value) each(f func(string) string) value {
	if !v.isList {
		v.s = f(v.s)
		return v
	}
	list := make([]string, len(v.list))
	for i, s := range v.list {
		list[i] = f(s)
	}
	v.list = list
	return v
}

// replace is ${x/pattern/string}.
func (sh *Shell) replace(p *paramPart, v value) value {
	pat := sh.expandPattern(p.orig)
	with, amp := "", []bool(nil)
	if p.with != nil {
		with, amp = sh.replacement(p.with)
	}
	if pat == "" && p.anchor == 0 || miscounted(pat) {
		return v
	}
	cp, release := sh.pattern(pat, sh.patternFlags(sh.opts.shopt(nocasematch)))
	defer release()
	return v.each(func(s string) string {
		sh.ticks += int64(len(s) >> 6)
		sh.tick()
		put := func(b []byte, m string) []byte {
			if amp == nil {
				return append(b, with...)
			}
			for i := 0; i < len(with); i++ {
				if amp[i] {
					b = append(b, m...)
				} else {
					b = append(b, with[i])
				}
			}
			return b
		}
		switch p.anchor {
		case '#':
			if n := cp.Prefix(s, true); n >= 0 {
				return string(put(nil, s[:n])) + s[n:]
			}
			return s
		case '%':
			if n := cp.Suffix(s, true); n >= 0 {
				return s[:n] + string(put(nil, s[n:]))
			}
			return s
		}
		if s == "" {
			if cp.Match("") {
				return string(put(nil, ""))
			}
			return s
		}
		var b []byte
		at := 0
		for at < len(s) {
			sh.ticks += int64(1 + (len(s)-at)>>10)
			sh.tick()
			st, end := cp.Find(s, at)
			if st < 0 {
				break
			}
			if end == st { // an empty match moves on by one character
				if st >= len(s) {
					break
				}
				w := sh.charLen(s[st:])
				b = append(b, s[at:st]...)
				b = put(b, "")
				b = append(b, s[st:st+w]...)
				at = st + w
				if !p.all {
					break
				}
				continue
			}
			b = append(b, s[at:st]...)
			b = put(b, s[st:end])
			at = end
			if int64(len(b)) > sh.x.budget.Limits.LiveBytes {
				sh.hold(int64(len(b)))
			}
			sh.tick()
			if !p.all {
				break
			}
		}
		return string(append(b, s[at:]...))
	})
}

// replacement expands the string part of ${x/p/s}; amp marks the unquoted & that stand for the match.
func (sh *Shell) replacement(w *word) (string, []bool) {
	e := expander{sh: sh, record: true}
	e.parts(w.parts, false)
	s := string(e.buf)
	if !strings.ContainsAny(s, `&\`) || !sh.opts.shopt(patsubReplacement) {
		return s, nil
	}
	amp := make([]bool, len(s))
	quoted := make([]bool, len(s))
	for i := 0; i < len(e.spans); i += 2 {
		for k := e.spans[i]; k < e.spans[i+1]; k++ {
			quoted[k] = true
		}
	}
	for i := range amp {
		amp[i] = s[i] == '&' && !quoted[i]
	}
	// In what came from an unquoted expansion, a backslash quotes & and itself.
	b := make([]byte, 0, len(s))
	out := amp[:0]
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && !quoted[i] && i+1 < len(s) && (amp[i+1] || s[i+1] == '\\' && !quoted[i+1]) {
			i++
			b = append(b, s[i])
			out = append(out, false)
			continue
		}
		b = append(b, s[i])
		out = append(out, amp[i])
	}
	return string(b), out
}

// miscounted reports whether bash looks for a text of a length that no text the pattern matches has: of [!]…] and [^]…]
// it counts the characters after the first "]" one by one.
func miscounted(pat string) bool {
	wrong := false
	for i := 0; i < len(pat); i++ {
		switch c := pat[i]; c {
		case '\\':
			i++
		case '*':
			return false
		case '?', '+', '!', '@':
			if strings.HasPrefix(pat[i+1:], "(") {
				return false
			}
		case '[':
			set := pat[i+1:]
			wrong = wrong || strings.HasPrefix(set, "!]") || strings.HasPrefix(set, "^]")
			end := strings.IndexByte(set[min(1, len(set)):], ']')
			if end < 0 {
				return wrong
			}
			i += end + 2
		}
	}
	return wrong
}

// operate applies # ## % %% ^ ^^ , ,, and @.
func (sh *Shell) operate(p *paramPart, name string, sub *subscript, v value) value {
	if p.op == syntax.OtherParamOps {
		return sh.transform(p, name, sub, v)
	}
	if !v.set && !v.isList {
		return v // the pattern is not expanded
	}
	fold := sh.patternFlags(false)
	switch p.op {
	case syntax.RemSmallPrefix, syntax.RemLargePrefix, syntax.RemSmallSuffix, syntax.RemLargeSuffix:
		if !v.isList && v.s == "" {
			return v
		}
	}
	switch p.op {
	case syntax.RemSmallPrefix, syntax.RemLargePrefix:
		cp, release := sh.pattern(sh.expandPattern(p.arg), fold)
		defer release()
		return v.each(func(s string) string {
			if n := cp.Prefix(s, p.op == syntax.RemLargePrefix); n >= 0 {
				return s[n:]
			}
			return s
		})
	case syntax.RemSmallSuffix, syntax.RemLargeSuffix:
		cp, release := sh.pattern(sh.expandPattern(p.arg), fold)
		defer release()
		return v.each(func(s string) string {
			if n := cp.Suffix(s, p.op == syntax.RemLargeSuffix); n >= 0 {
				return s[:n]
			}
			return s
		})
	}
	pat := sh.expandPattern(p.arg)
	var cp *pattern.Pattern
	if pat != "" {
		var release func()
		cp, release = sh.pattern(pat, fold)
		defer release()
	}
	upper := p.op == syntax.UpperFirst || p.op == syntax.UpperAll
	all := p.op == syntax.UpperAll || p.op == syntax.LowerAll
	return v.each(func(s string) string { return sh.changeCase(s, upper, all, cp) })
}

func (sh *Shell) changeCase(s string, upper, all bool, cp *pattern.Pattern) string {
	if upper {
		return sh.mapCase(s, all, cp, unicode.ToUpper)
	}
	return sh.mapCase(s, all, cp, unicode.ToLower)
}

func swapCase(r rune) rune {
	if unicode.IsUpper(r) {
		return unicode.ToLower(r)
	}
	return unicode.ToUpper(r)
}

func (sh *Shell) mapCase(s string, all bool, cp *pattern.Pattern, f func(rune) rune) string {
	b := make([]byte, 0, len(s))
	next := 0
	for i := 0; i < len(s); {
		if i >= next {
			sh.readStep()
			next = i + 64
		}
		r, w := utf8.DecodeRuneInString(s[i:])
		if w > 1 && sh.bytes() {
			r, w = utf8.RuneError, 1
		}
		ch := s[i : i+w]
		if (r != utf8.RuneError || w > 1) && (cp == nil || cp.Match(ch)) {
			b = utf8.AppendRune(b, f(r))
		} else {
			b = append(b, ch...)
		}
		i += w
		if !all {
			return string(append(b, s[i:]...))
		}
	}
	return string(b)
}

// transform is ${x@Q} and the like.
func (sh *Shell) transform(p *paramPart, name string, sub *subscript, v value) value {
	if n, s := sh.deref(name, nil); s == nil {
		name = n
	}
	if !v.set && !v.isList {
		op := p.arg.src
		if va := sh.vars[name]; (op == "a" || op == "A") && va != nil && isName(name) {
			if op == "a" {
				return value{s: va.letters(), set: true}
			}
			if sub != nil && va.isArray() {
				return value{s: "declare -" + va.letters() + " " + name, set: true}
			}
			return value{s: sh.assignText(name, va), set: true}
		}
		return value{}
	}
	switch p.arg.src {
	case "Q":
		return v.each(quoteReusable)
	case "E":
		return v.each(ansiC)
	case "P":
		return v.each(sh.promptExpanded)
	case "U":
		return v.each(func(s string) string { return sh.changeCase(s, true, true, nil) })
	case "L":
		return v.each(func(s string) string { return sh.changeCase(s, false, true, nil) })
	case "u":
		return v.each(func(s string) string { return sh.changeCase(s, true, false, nil) })
	case "a":
		va := sh.lookup(name)
		if va == nil {
			return v.each(func(string) string { return "" })
		}
		if v.isList && len(v.list) == 0 && va.isArray() && va.attrs&aSet == 0 {
			return value{s: va.letters(), set: true}
		}
		if v.isList {
			l := va.letters()
			if !va.isArray() && l == "" {
				return value{isList: true}
			}
			return v.each(func(string) string { return l })
		}
		return value{s: va.letters(), set: true}
	case "A":
		va := sh.lookup(name)
		if va == nil {
			if v.isList {
				if len(v.list) == 0 {
					return v
				}
				q := []string{"set", "--"}
				for _, s := range v.list {
					q = append(q, singleQuote(s))
				}
				if v.star {
					sh.loadIFS()
					return value{s: "set -- " + strings.Join(q[2:], sh.ifs.first), set: true}
				}
				return value{isList: true, list: q, star: v.star, set: true}
			}
			return value{set: true}
		}
		if v.isList && va.isArray() {
			text := sh.declText(name, va)
			if v.star {
				return value{s: text, set: true}
			}
			words := strings.SplitN(text, " ", 3)
			return value{isList: true, list: words, star: v.star, set: true}
		}
		if va.isArray() {
			if !v.set {
				return value{s: "declare -" + va.letters() + " " + name, set: true}
			}
			l := va.letters()
			return value{s: "declare -" + l + " " + name + "=" + quoteReusable(v.s), set: true}
		}
		return value{s: sh.assignText(name, va), set: true}
	case "K", "k":
		va := sh.lookup(name)
		if !v.isList || va == nil || !va.isArray() {
			return v.each(quoteReusable)
		}
		if len(v.list) == 0 {
			return v
		}
		keys := va.keyNames()
		var out []string
		for i, k := range keys {
			if p.arg.src == "k" {
				out = append(out, k, v.list[i])
				continue
			}
			q := k
			if va.attrs&aAssoc != 0 && hasShellMeta(k) {
				q = quoteDouble(k)
			}
			out = append(out, q, quoteDouble(v.list[i]))
		}
		if p.arg.src == "k" {
			return value{isList: true, list: out, star: v.star, set: true}
		}
		s := strings.Join(out, " ")
		if va.attrs&aAssoc != 0 && s != "" {
			s += " "
		}
		return value{s: s, set: true}
	}
	if !v.set && !v.isList {
		return v
	}
	sh.errorf("%s: bad substitution", p.src)
	sh.exitExpansion()
	return v
}

// badSubstitution refuses what the parser did. An operator that does not exist is met only by a variable that is set,
// and ends the shell.
func (sh *Shell) badSubstitution(src string) {
	name, op, ok := strings.Cut(strings.TrimPrefix(src, "${"), "@")
	if ok && isName(name) && len(op) > 1 {
		if !sh.paramValue(name, nil).set {
			return
		}
		sh.errorf("%s: bad substitution", src)
		sh.exitExpansion()
	}
	sh.fatal("%s: bad substitution", src)
}

// assignText is what ${x@A} shows for a scalar.
func (sh *Shell) assignText(name string, v *variable) string {
	l := v.letters()
	s, set := v.scalar()
	if l == "" {
		if !set {
			return ""
		}
		return name + "=" + quoteReusable(s)
	}
	if !set {
		return "declare -" + l + " " + name
	}
	return "declare -" + l + " " + name + "=" + quoteReusable(s)
}
