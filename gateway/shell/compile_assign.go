package shell

import (
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/text/arith"
	"mvdan.cc/sh/v3/syntax"
)

// assignments compiles a text of assignments, or the operands of a declaration command, that stands on its own.
func (c *compiler) assignments(text string, decl bool) []*assign {
	if decl {
		text = "declare " + text
	}
	if text == c.src { // it would be read the same way for ever
		return nil
	}
	f, bad, err := parseFile(text, c.step)
	if err != nil || len(f.Stmts) != 1 {
		return nil
	}
	sub := c.over(text, bad)
	s, ok := sub.command(f.Stmts[0].Cmd).(*simpleCmd)
	c.refuse(sub.refused)
	switch {
	case !ok:
		return nil
	case decl:
		return s.decl
	}
	return s.assigns
}

// over is a compiler for a part of the text.
func (c *compiler) over(src string, bad map[uint]int) compiler {
	return compiler{src: src, lines: c.lines, bad: bad, step: c.step, stray: c.stray, extglob: c.extglob, cond: c.cond,
		reprint: c.reprint}
}

func (c *compiler) assign(a *syntax.Assign) *assign {
	out := &assign{add: a.Append, naked: a.Naked, line: c.line(a.Pos())}
	if a.Name == nil {
		out.val = c.word(a.Value)
		return out
	}
	out.name = a.Name.Value
	if name, sub, ok := strings.Cut(c.text(a.Name.Pos().Offset(), a.Name.End().Offset()), "["); ok { // see maskArray
		out.name = name
		out.sub = c.subscript(strings.TrimSuffix(sub, "]"))
	}
	if a.Index != nil {
		out.sub = c.subscriptAt(a.Name.End().Offset())
	}
	if a.Value != nil && c.maskedArray(a.Value) {
		if out.sub != nil {
			out.arr = &arrayLit{}
			return out
		}
		from := a.Pos().Offset()
		if arr := c.assignments(c.text(from, a.Value.End().Offset()), false); len(arr) == 1 {
			out.arr = arr[0].arr
			return out
		}
	}
	if a.Value != nil {
		out.val = c.assignWord(a.Value)
	}
	if a.Array != nil {
		out.arr = &arrayLit{}
		for _, e := range a.Array.Elems {
			var el arrayElem
			if e.Index != nil {
				start := e.Index.Pos().Offset()
				for start > 0 && c.src[start-1] != '[' {
					start--
				}
				el.sub = c.subscriptAt(start - 1).unquoted()
				if end := closing(c.src, int(start)-1); strings.HasPrefix(c.src[min(end+1, len(c.src)):], "+=") {
					el.add = true
					if l, ok := e.Value.Parts[0].(*syntax.Lit); ok {
						l.Value = strings.TrimPrefix(l.Value, "+") // see maskArray
					}
				}
			}
			if e.Value != nil {
				if from := e.Value.Pos().Offset(); el.sub == nil && c.text(from, from+3) == "[]=" {
					el.sub = c.subscript("")
					el.val = litWord(c.raw(from+3, e.Value.End().Offset()))
				} else if el.sub != nil {
					el.val = c.assignWord(e.Value)
					if el.add {
						el.val.src = strings.TrimPrefix(el.val.src, "=")
					}
				} else {
					el.val = c.word(e.Value)
				}
			}
			out.arr.elems = append(out.arr.elems, el)
		}
	}
	return out
}

// subscriptAt reads the subscript whose '[' is at offset at of the source.
func (c *compiler) subscriptAt(at uint) *subscript {
	if int(at) >= len(c.src) || c.src[at] != '[' {
		return &subscript{lit: "0", text: "0"}
	}
	return c.subscript(c.src[at+1 : closing(c.src, int(at))])
}

// closing returns the offset of the bracket that closes the '[' at i, honouring quotes and nesting.
func closing(s string, i int) int {
	depth := 0
	for ; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '\'':
			for i++; i < len(s) && s[i] != '\''; i++ {
			}
		case '"':
			for i++; i < len(s) && s[i] != '"'; i++ {
				if s[i] == '\\' {
					i++
				}
			}
		case '$':
			if i+1 < len(s) && (s[i+1] == '{' || s[i+1] == '(') {
				i = skipNest(s, i+1)
			}
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(s)
}

// skipNest returns the offset of the bracket that closes the one at i.
func skipNest(s string, i int) int {
	open := s[i]
	closer := byte('}')
	if open == '(' {
		closer = ')'
	}
	depth := 0
	for ; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '\'':
			for i++; i < len(s) && s[i] != '\''; i++ {
			}
		case open:
			depth++
		case closer:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(s)
}

func (c *compiler) subscript(text string) *subscript {
	s := &subscript{text: c.stray.decode(text)}
	switch text {
	case "@", "*":
		s.all = text[0]
		s.lit = text
		return s
	}
	if strings.ContainsAny(text, "$`\"'\\~") {
		s.parts = c.loose(text)
		lit, ok := literal(s.parts)
		if !ok {
			return s
		}
		s.parts, s.lit = nil, lit
	} else {
		s.lit = s.text
	}
	s.expr, s.err = arith.Parse(s.lit, c.step)
	if strings.ContainsAny(text, "'\\") {
		s.index = c.arith(text)
	}
	return s
}

// unquoted is a subscript that is a word, so that its quotes are gone before it is evaluated.
func (s *subscript) unquoted() *subscript {
	s.index = nil
	return s
}

func (c *compiler) arith(text string) *arithText {
	a := &arithText{text: text}
	t := text
	if strings.ContainsAny(text, "$`\"'\\") {
		t = strings.ReplaceAll(t, "\\\n", "")
		a.parts = c.looseArith(t)
		lit, ok := literal(a.parts)
		if !ok {
			return a
		}
		a.parts, t = nil, lit
	}
	a.text = c.stray.decode(t)
	a.expr, a.err = arith.Parse(a.text, c.step)
	return a
}
