package shell

import (
	"strconv"
	"strings"
	"unsafe"

	"github.com/pgbox/pgbox/gateway/shell/proc"
)

// hasBrace reports whether unquoted text of the parts may hold a brace expansion.
func hasBrace(parts []part) bool {
	open := false
	for _, p := range parts {
		l, ok := p.(*litPart)
		if !ok {
			continue
		}
		s := l.s
		if !open {
			i := strings.IndexByte(s, '{')
			if i < 0 {
				continue
			}
			open = true
			s = s[i:]
		}
		if strings.IndexByte(s, '}') >= 0 {
			return true
		}
	}
	return false
}

// btok is one unquoted byte or one part that brace expansion does not look into.
type btok struct {
	c byte
	p part
}

// braces expands the braces of a word into words.
func (sh *Shell) braces(w *word) []*word {
	var toks []btok
	for _, p := range w.parts {
		if l, ok := p.(*litPart); ok {
			for i := 0; i < len(l.s); i++ {
				toks = append(toks, btok{c: l.s[i]})
			}
			continue
		}
		toks = append(toks, btok{p: p})
	}
	held := sh.held
	lists := sh.braceList(toks, 0)
	defer func() { sh.hold(held - sh.held) }()
	out := make([]*word, 0, len(lists))
	c := compiler{}
	for _, l := range lists {
		nw := &word{parts: fromToks(l)}
		if len(nw.parts) == 0 {
			continue // an empty alternative yields no word
		}
		nw = c.finish(nw, false)
		nw.brace = false
		if !nw.isLit && len(nw.parts) > 0 {
			plain := true
			for _, p := range nw.parts {
				if l, ok := p.(*litPart); ok && hasGlobChar(l.s) {
					plain = false
				}
			}
			if plain {
				nw.lit, nw.isLit = literal(nw.parts)
			}
		}
		out = append(out, nw)
	}
	return out
}

func fromToks(ts []btok) []part {
	var out []part
	var b []byte
	flush := func() {
		if len(b) > 0 {
			out = append(out, &litPart{string(b)})
			b = nil
		}
	}
	for _, t := range ts {
		if t.p != nil {
			flush()
			out = append(out, t.p)
			continue
		}
		if t.c == '\\' { // of {Y..b}: it quotes nothing
			flush()
			out = append(out, &quotedPart{})
			continue
		}
		if n := len(out); n > 0 && len(b) == 0 && isNameByte(t.c) {
			// Braces come first: $x{a,b} is $xa $xb.
			if v, ok := out[n-1].(*paramPart); ok && isName(v.name) && !strings.HasPrefix(v.src, "${") && v.sub == nil {
				out[n-1] = &paramPart{name: v.name + string([]byte{t.c}), src: v.src + string([]byte{t.c}), line: v.line}
				continue
			}
		}
		b = append(b, t.c)
	}
	flush()
	return out
}

func (sh *Shell) wordLimit(n int) {
	if int64(n) > sh.x.budget.Limits.Words {
		err := error(&proc.LimitError{Name: "words", Limit: sh.x.budget.Limits.Words})
		sh.x.budget.Kill(err)
		panic(killPanic{cmpErr(sh.x.over(), err)})
	}
}

// wordBytes counts n words of size bytes each that wait for braces to be done with them.
func (sh *Shell) wordBytes(n, size int) {
	sh.wordLimit(n)
	sh.hold(int64(n) * (int64(size)*int64(unsafe.Sizeof(btok{})) + 32))
}

// braceList holds what it makes; braces releases it.
func (sh *Shell) braceList(ts []btok, depth int) [][]btok {
	sh.tick()
	if depth > 200 {
		return [][]btok{ts}
	}
	for i := 0; i < len(ts); i++ {
		if ts[i].p != nil || ts[i].c != '{' {
			continue
		}
		end, commas := matchBrace(ts, i)
		if end < 0 {
			continue
		}
		var alts [][]btok
		if len(commas) > 0 {
			start := i + 1
			for _, c := range append(commas, end) {
				alts = append(alts, sh.braceList(ts[start:c], depth+1)...)
				sh.wordLimit(len(alts))
				start = c + 1
			}
		} else {
			seq, ok := sh.sequence(ts[i+1 : end])
			if !ok {
				continue
			}
			for _, s := range seq {
				t := make([]btok, len(s))
				for k := 0; k < len(s); k++ {
					t[k].c = s[k]
				}
				alts = append(alts, t)
			}
		}
		tails := sh.braceList(ts[end+1:], depth+1)
		sh.wordLimit(len(alts) * len(tails))
		longest := 0
		for _, t := range tails {
			longest = max(longest, len(t))
		}
		for _, a := range alts {
			sh.wordBytes(len(tails), i+len(a)+longest)
		}
		out := make([][]btok, 0, len(alts)*len(tails))
		for _, a := range alts {
			for _, t := range tails {
				w := make([]btok, 0, i+len(a)+len(t))
				w = append(append(append(w, ts[:i]...), a...), t...)
				sh.ticks += int64(len(w) / 64)
				out = append(out, w)
			}
			sh.tick()
		}
		return out
	}
	return [][]btok{ts}
}

// matchBrace finds the '}' for the '{' at i and the commas between them; end is -1 when there is none.
func matchBrace(ts []btok, i int) (end int, commas []int) {
	depth := 0
	for k := i; k < len(ts); k++ {
		if ts[k].p != nil {
			continue
		}
		switch ts[k].c {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return k, commas
			}
		case ',':
			if depth == 1 {
				commas = append(commas, k)
			}
		}
	}
	return -1, nil
}

// sequence expands x..y and x..y..step.
func (sh *Shell) sequence(ts []btok) ([]string, bool) {
	b := make([]byte, 0, len(ts))
	for _, t := range ts {
		if t.p != nil {
			return nil, false
		}
		b = append(b, t.c)
	}
	f := strings.Split(string(b), "..")
	if len(f) != 2 && len(f) != 3 {
		return nil, false
	}
	step := int64(1)
	if len(f) == 3 {
		n, err := strconv.ParseInt(f[2], 10, 64)
		if err != nil {
			return nil, false
		}
		if step = n; step < 0 {
			step = -step
		}
		if step <= 0 {
			step = 1
		}
	}
	lo, err1 := strconv.ParseInt(f[0], 10, 64)
	hi, err2 := strconv.ParseInt(f[1], 10, 64)
	var out []string
	if err1 == nil && err2 == nil {
		width := 0
		for _, s := range f[:2] {
			if d := strings.TrimLeft(s, "+-"); len(d) > 1 && d[0] == '0' {
				width = max(len(f[0]), len(f[1]))
			}
		}
		n := uint64(hi) - uint64(lo)
		if lo > hi {
			n = uint64(lo) - uint64(hi)
		}
		n /= uint64(step)
		if n > uint64(sh.x.budget.Limits.Words) {
			sh.wordLimit(int(min(n, 1<<62)))
		}
		sh.wordBytes(int(n)+1, max(width, len(f[0]), len(f[1])))
		for v := lo; ; {
			s := strconv.FormatInt(v, 10)
			if width > len(s) {
				if v < 0 {
					s = "-" + strings.Repeat("0", width-len(s)) + s[1:]
				} else {
					s = strings.Repeat("0", width-len(s)) + s
				}
			}
			out = append(out, s)
			if n == 0 {
				break
			}
			n--
			if lo <= hi {
				v += step
			} else {
				v -= step
			}
		}
		sh.ticks += int64(len(out) / 16)
		return out, true
	}
	if len(f[0]) != 1 || len(f[1]) != 1 || !isLetter(f[0][0]) || !isLetter(f[1][0]) {
		return nil, false
	}
	a, z := int64(f[0][0]), int64(f[1][0])
	for v := a; ; {
		out = append(out, string([]byte{byte(v)}))
		if a <= z {
			v += step
			if v > z {
				break
			}
		} else {
			v -= step
			if v < z {
				break
			}
		}
	}
	return out, true
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
