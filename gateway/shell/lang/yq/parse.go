package yq

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxNesting bounds how deep an expression may be.
const maxNesting = 500

// MaxSource bounds how long an expression may be: what fits into an argument of a command of Linux.
const MaxSource = 128 << 10

// ErrNotHere is for expressions that use what only other dialects have.
var ErrNotHere = errors.New("no expression of yq")

// expr is a node of an expression.
type expr struct {
	op   string // an operator, "call", "field", "index", …
	text string // name of a field, a function or a variable; flags of an operator
	args []*expr
	lit  *node // of "literal"
}

// precedences of the binary operators; all of them group from the left.
var precedences = map[string]int{
	"or": 20, "and": 20, ",": 10, "|": 30, "=": 40, "|=": 40, "+=": 40, "-=": 40, "*=": 40, "//=": 40, "/=": 40, "%=": 40,
	"==": 40, "!=": 40, "<": 40, "<=": 40,
	">": 40, ">=": 40, "as": 40, "ref": 40, "ireduce": 35, "//": 42, "+": 43, "-": 43, "*": 44, "/": 44, "%": 44,
}

const mapPrecedence = 15

type parser struct {
	src  string
	pos  int
	deep int
	open []string // what closes the brackets that are open
}

// Compile reads an expression.
func Compile(src string) (e *Program, err error) {
	if len(src) > MaxSource {
		return nil, errors.New("the expression is too long")
	}
	p := &parser{src: src}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case parseError:
			err = r.err
		default:
			panic(r)
		}
	}()
	if p.space(); p.pos == len(src) {
		return &Program{&expr{op: "self"}}, nil
	}
	x := p.expression(0)
	if p.space(); p.pos < len(p.src) {
		if _, ok := functions[p.word()]; ok {
			p.fail("bad expression, please check expression syntax")
		}
		p.invalid()
	}
	return &Program{x}, nil
}

// Program is a compiled expression.
type Program struct{ e *expr }

type parseError struct{ err error }

func (p *parser) fail(format string, args ...any) { panic(parseError{fmt.Errorf(format, args...)}) }

func (p *parser) invalid() {
	line := 1 + strings.Count(p.src[:min(p.pos, len(p.src))], "\n")
	column := min(p.pos, len(p.src)) - strings.LastIndexByte(p.src[:min(p.pos, len(p.src))], '\n')
	panic(parseError{fmt.Errorf("%d:%d: lexer: invalid input text %q", line, column, p.src[min(p.pos, len(p.src)):])})
}

func (p *parser) space() {
	for p.pos < len(p.src) {
		switch c := p.src[p.pos]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			p.pos++
		case c == '#':
			for p.pos < len(p.src) && p.src[p.pos] != '\n' {
				p.pos++
			}
		default:
			return
		}
	}
}

func (p *parser) peek() byte {
	if p.pos < len(p.src) {
		return p.src[p.pos]
	}
	return 0
}

// take takes s when it comes next.
func (p *parser) take(s string) bool {
	p.space()
	if strings.HasPrefix(p.src[p.pos:], s) {
		p.pos += len(s)
		return true
	}
	return false
}

func (p *parser) need(s string) {
	if !p.take(s) {
		if p.pos >= len(p.src) {
			p.fail("bad expression, could not find matching `%s`", s)
		}
		p.invalid()
	}
}

func isLetter(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80 }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

// word looks at the name that comes next.
func (p *parser) word() string {
	p.space()
	i := p.pos
	for i < len(p.src) && (isLetter(p.src[i]) || i > p.pos && isDigit(p.src[i])) {
		i++
	}
	return p.src[p.pos:i]
}

// attributes of nodes that can be assigned: NODE style= VALUE.
var attributes = map[string]string{
	"style": "style", "tag": "tag", "type": "tag", "anchor": "anchor", "alias": "alias", "lineComment": "lineComment",
	"line_comment": "lineComment",
	"headComment":  "headComment", "head_comment": "headComment", "footComment": "footComment",
	"foot_comment": "footComment", "comments": "comments",
}

// operator is the binary operator that comes next; after says where the right side begins.
func (p *parser) operator() (op, flags string, after int) {
	p.space()
	rest := p.src[p.pos:]
	if w := p.word(); w != "" {
		switch w {
		case "and", "or", "as", "ref", "ireduce":
			return w, "", p.pos + len(w)
		}
		if a := attributes[w]; a != "" {
			save := p.pos
			p.pos += len(w)
			p.space()
			tail := p.src[p.pos:]
			at := p.pos
			p.pos = save
			if strings.HasPrefix(tail, "|=") {
				return "set|", a, at + 2
			}
			if strings.HasPrefix(tail, "=") && !strings.HasPrefix(tail, "==") {
				return "set", a, at + 1
			}
		}
		return "", "", 0
	}
	for _, o := range []string{"//=", "|=", "+=", "-=", "/=", "%=", "==", "!=", "<=", ">=", "//", "*", ",", "|", "=", "<",
		">", "+", "-", "/", "%"} {
		if !strings.HasPrefix(rest, o) {
			continue
		}
		after = p.pos + len(o)
		if o == "*" || o == "=" || o == "|=" {
			i := after
			if o == "*" && i < len(p.src) && p.src[i] == '=' {
				o = "*="
				i++
			}
			from := i
			for i < len(p.src) && strings.IndexByte("+dnc?", p.src[i]) >= 0 &&
				(p.src[i] != 'd' && p.src[i] != 'n' && p.src[i] != 'c' || i+1 == len(p.src) || !isLetter(p.src[i+1]) ||
					strings.IndexByte("dnc", p.src[i+1]) >= 0) {
				i++
			}
			if o == "*" || o == "*=" || p.src[from:i] == "c" {
				flags, after = p.src[from:i], i
			}
			if o == "*" && after < len(p.src) && p.src[after] == '=' && !strings.HasPrefix(p.src[after:], "==") {
				o, after = "*=", after+1
			}
		}
		return o, flags, after
	}
	return "", "", 0
}

// enter is called by whatever an expression can have within itself, with leave at its end.
func (p *parser) enter() {
	if p.deep++; p.deep > maxNesting {
		p.fail("expression nested too deeply")
	}
}

func (p *parser) leave() { p.deep-- }

func (p *parser) expression(above int) *expr {
	p.enter()
	defer p.leave()
	left := p.postfix()
	for {
		op, flags, after := p.operator()
		prec := precedences[op]
		if op == "set" || op == "set|" {
			prec = 40
		}
		if op == "" || prec <= above {
			return left
		}
		p.pos = after
		switch op {
		case "as", "ref":
			p.need("$")
			name := p.word()
			p.pos += len(name)
			left = &expr{op: op, text: name, args: []*expr{left}}
			continue
		}
		if p.space(); p.pos == len(p.src) {
			p.fail("'%s' expects 2 args but there is 1", strings.TrimPrefix(op, "set"))
		}
		left = &expr{op: op, text: flags, args: []*expr{left, p.expression(prec)}}
	}
}

// postfix is an operand and what walks on from it.
func (p *parser) postfix() *expr {
	left := p.operand()
	for {
		walked := p.walk(left)
		if walked == nil {
			return left
		}
		left = walked
	}
}

func pipe(a, b *expr) *expr {
	if a.op == "self" {
		return b
	}
	return &expr{op: "|", args: []*expr{a, b}}
}

// walk reads one step: .name, [index] and so on; nil when there is none.
func (p *parser) walk(left *expr) *expr {
	switch {
	case p.peek() == '[':
		return p.brackets(left)
	case p.peek() == '?':
		p.pos++
		return &expr{op: "try", args: []*expr{left}}
	case p.peek() != '.' || p.pos+1 >= len(p.src) || strings.HasPrefix(p.src[p.pos:], ".."):
		return nil
	}
	switch c := p.src[p.pos+1]; {
	case c == '[':
		p.pos++
		return p.brackets(left)
	case c == '"' || isKeyByte(c) || c == '$' || c == '*':
		p.pos++
		return pipe(left, p.field())
	}
	return nil
}

func isKeyByte(c byte) bool { return isLetter(c) || isDigit(c) || c == '-' || c == '/' || c == '@' }

// field reads the name after a dot.
func (p *parser) field() *expr {
	if p.peek() == '"' {
		s := p.quoted()
		if s.op != "literal" {
			return &expr{op: "index", args: []*expr{{op: "self"}, s}}
		}
		return &expr{op: "field", text: s.lit.Value}
	}
	from := p.pos
	for p.pos < len(p.src) {
		c := p.src[p.pos]
		if !isKeyByte(c) && c != '$' && c != '*' {
			break
		}
		p.pos++
	}
	return &expr{op: "field", text: p.src[from:p.pos]}
}

// inside is an expression within brackets.
func (p *parser) inside(closing string, above int) *expr {
	p.open = append(p.open, closing)
	e := p.expression(above)
	p.open = p.open[:len(p.open)-1]
	return e
}

func (p *parser) brackets(left *expr) *expr {
	p.pos++
	if p.take("]") {
		return pipe(left, &expr{op: "each"})
	}
	var from *expr
	if p.space(); p.peek() != ':' {
		from = p.inside("]", 0)
	}
	if p.take(":") {
		e := &expr{op: "slice", args: []*expr{left, from, nil}}
		if p.space(); p.peek() != ']' {
			e.args[2] = p.expression(0)
		}
		p.need("]")
		return e
	}
	p.need("]")
	return &expr{op: "index", args: []*expr{left, from}}
}

func literal(n *node) *expr { return &expr{op: "literal", lit: n} }

func (p *parser) operand() *expr {
	p.space()
	if p.pos >= len(p.src) {
		if n := len(p.open); n > 0 {
			p.fail("bad expression, could not find matching `%s`", p.open[n-1])
		}
		p.fail("the expression ends too early")
	}
	switch c := p.src[p.pos]; {
	case c == '(':
		p.pos++
		e := p.inside(")", 0)
		if p.take(";") {
			e = &expr{op: "block", args: []*expr{e, p.expression(0)}}
		}
		p.need(")")
		return e
	case c == '[':
		p.pos++
		if p.take("]") {
			return &expr{op: "collect"}
		}
		e := p.inside("]", 0)
		p.need("]")
		return &expr{op: "collect", args: []*expr{e}}
	case c == '{':
		p.pos++
		return p.object()
	case c == '"':
		return p.quoted()
	case c == '$':
		p.pos++
		name := p.word()
		if name == "" || name == "__loc__" || name == "ENV" {
			panic(parseError{ErrNotHere})
		}
		p.pos += len(name)
		return &expr{op: "variable", text: name}
	case c == '@':
		p.pos++
		name := p.word()
		if i := p.pos + len(name); i < len(p.src) && isDigit(p.src[i]) {
			p.invalid()
		}
		p.pos += len(name)
		if !formats[name] {
			p.pos -= len(name) + 1
			p.invalid()
		}
		return &expr{op: "call", text: "@" + name}
	case isDigit(c) || c == '-':
		return p.numeral()
	case c == '.':
		return p.path()
	case isLetter(c):
		return p.call()
	}
	if op, _, _ := p.operator(); op != "" {
		p.fail("'%s' expects 2 args but there is 1", op)
	}
	p.invalid()
	return nil
}

func (p *parser) path() *expr {
	rest := p.src[p.pos:]
	switch {
	case strings.HasPrefix(rest, "..."):
		p.pos += 3
		return &expr{op: "recurse", text: "keys"}
	case strings.HasPrefix(rest, ".."):
		p.pos += 2
		return &expr{op: "recurse"}
	}
	self := &expr{op: "self"}
	if e := p.walk(self); e != nil {
		return e
	}
	p.pos++
	return self
}

func (p *parser) numeral() *expr {
	from := p.pos
	p.pos++
	for p.pos < len(p.src) {
		c := p.src[p.pos]
		if !isDigit(c) && c != '.' && c|0x20 != 'e' && c|0x20 != 'x' &&
			!(p.pos-from > 1 && p.src[from+1]|0x20 == 'x' && isLetter(c)) {
			if (c != '-' && c != '+') || p.src[p.pos-1]|0x20 != 'e' {
				break
			}
		}
		p.pos++
	}
	s := p.src[from:p.pos]
	if s == "-" { // of what is no number
		p.enter()
		defer p.leave()
		return &expr{op: "-", args: []*expr{literal(number("0", "!!int")), p.postfix()}}
	}
	if _, err := strconv.ParseInt(s, 0, 64); err == nil {
		return literal(number(s, "!!int"))
	}
	if _, err := strconv.ParseFloat(s, 64); err != nil {
		p.pos = from
		p.invalid()
	}
	return literal(number(s, "!!float"))
}

// quoted reads a text, with \( ) in it.
func (p *parser) quoted() *expr {
	p.pos++
	var b strings.Builder
	var parts []*expr
	for {
		if p.pos >= len(p.src) {
			p.fail("unterminated string")
		}
		c := p.src[p.pos]
		p.pos++
		switch {
		case c == '"':
			if parts == nil {
				return literal(text(b.String()))
			}
			return &expr{op: "interpolate", args: append(parts, literal(text(b.String())))}
		case c == '\\' && p.pos < len(p.src):
			c = p.src[p.pos]
			p.pos++
			switch c {
			case 'n':
				b.WriteByte('\n')
			case 't':
				b.WriteByte('\t')
			case 'r':
				b.WriteByte('\r')
			case 'f':
				b.WriteByte('\f')
			case 'v':
				b.WriteByte('\v')
			case 'a':
				b.WriteByte('\a')
			case '"', '\\', '/':
				b.WriteByte(c)
			case 'u':
				n, err := strconv.ParseUint(p.src[p.pos:min(p.pos+4, len(p.src))], 16, 32)
				if err != nil {
					b.WriteString("\\u")
					break
				}
				p.pos += 4
				b.WriteString(string(utf8.AppendRune(nil, rune(n))))
			case '(':
				parts = append(parts, literal(text(b.String())), p.expression(0))
				b.Reset()
				p.need(")")
			default:
				b.WriteString("\\" + string(c))
			}
		default:
			b.WriteByte(c)
		}
	}
}

func (p *parser) object() *expr {
	o := &expr{op: "object"}
	if p.take("}") {
		return o
	}
	for {
		p.space()
		var key *expr
		w := p.word()
		switch {
		case w != "" && !strings.HasPrefix(p.src[p.pos+len(w):], "("):
			p.pos += len(w)
			key = literal(text(w))
		case p.peek() == '$':
			p.pos++
			w = p.word()
			p.pos += len(w)
			o.args = append(o.args, literal(text(w)), &expr{op: "variable", text: w})
			if p.take(",") {
				continue
			}
			p.need("}")
			return o
		default:
			w = ""
			key = p.inside("}", mapPrecedence)
		}
		if p.take(":") {
			o.args = append(o.args, key, p.inside("}", mapPrecedence))
		} else if w != "" {
			o.args = append(o.args, key, &expr{op: "field", text: w})
		} else {
			p.invalid()
		}
		if p.take(",") {
			continue
		}
		p.need("}")
		return o
	}
}

// call reads a function with its arguments, or a constant.
func (p *parser) call() *expr {
	w := p.word()
	switch w {
	case "true", "false", "null", "TRUE", "FALSE", "NULL":
		p.pos += len(w)
		tag := "!!bool"
		if strings.EqualFold(w, "null") {
			tag = "!!null"
		}
		return literal(number(w, tag))
	}
	f, ok := functions[w]
	if !ok {
		p.invalid()
	}
	p.pos += len(w)
	e := &expr{op: "call", text: w}
	if p.peek() == '(' && f.most > 0 {
		p.pos++
		if (w == "env" || w == "strenv") && p.word() != "" {
			name := p.word()
			p.pos += len(name)
			p.need(")")
			e.args = []*expr{literal(text(name))}
			return e
		}
		for {
			p.space()
			if len(e.args) == 0 && p.take(")") {
				break
			}
			p.open = append(p.open, ")")
			e.args = append(e.args, p.argument(w))
			p.open = p.open[:len(p.open)-1]
			if p.take(";") || w == "envsubst" && p.take(",") {
				continue
			}
			p.need(")")
			break
		}
	}
	if len(e.args) < f.least || len(e.args) > f.most {
		p.fail("'%s' expects %d args but there is %d", w, f.least, len(e.args))
	}
	return e
}

// argument is one argument of a function; the flags of envsubst are bare words.
func (p *parser) argument(function string) *expr {
	if function == "envsubst" {
		w := p.word()
		p.pos += len(w)
		return literal(text(w))
	}
	return p.expression(0)
}
