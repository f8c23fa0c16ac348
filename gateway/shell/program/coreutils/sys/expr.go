package sys

import (
	"bytes"
	"context"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/shell/text/regex"
)

// expression is a parser over the arguments of expr that computes as it goes.
type expression struct {
	p     *proc.Process
	args  []string
	pos   int
	depth int
}

// maxExprDepth bounds the nesting of parentheses.
const maxExprDepth = 10000

func expr(_ context.Context, p *proc.Process) int {
	args := p.Args[1:]
	if len(args) == 1 {
		switch args[0] {
		case "--help":
			p.Out.WriteString("Usage: expr EXPRESSION\n  or:  expr OPTION\n")
			return 0
		case "--version":
			p.Out.WriteString("expr (GNU coreutils) 9.1\n")
			return 0
		}
	}
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		p.Errorf("missing operand")
		p.Err.WriteString("Try 'expr --help' for more information.\n")
		return 2
	}
	e := &expression{p: p, args: args}
	v := e.or(true)
	if e.pos < len(args) {
		e.fail("syntax error: unexpected argument %s", program.Quote(args[e.pos]))
	}
	p.Out.WriteString(v + "\n")
	if isNull(v) {
		return 1
	}
	return 0
}

func (e *expression) fail(format string, args ...any) {
	e.p.Errorf(format, args...)
	e.p.Exit(2)
}

// isNull is false for expr: empty or zero.
func isNull(s string) bool {
	if s == "" {
		return true
	}
	t := strings.TrimPrefix(s, "-")
	return t != "" && strings.Trim(t, "0") == ""
}

func (e *expression) accept(words ...string) (string, bool) {
	if e.pos < len(e.args) {
		for _, w := range words {
			if e.args[e.pos] == w {
				e.pos++
				return w, true
			}
		}
	}
	return "", false
}

func (e *expression) or(eval bool) string {
	l := e.and(eval)
	for {
		if _, ok := e.accept("|"); !ok {
			return l
		}
		r := e.and(eval && isNull(l))
		if isNull(l) {
			l = r
			if isNull(l) {
				l = "0"
			}
		}
	}
}

func (e *expression) and(eval bool) string {
	l := e.comparison(eval)
	for {
		if _, ok := e.accept("&"); !ok {
			return l
		}
		r := e.comparison(eval && !isNull(l))
		if isNull(l) || isNull(r) {
			l = "0"
		}
	}
}

func (e *expression) comparison(eval bool) string {
	l := e.sum(eval)
	for {
		op, ok := e.accept("<", "<=", "=", "==", "!=", ">=", ">")
		if !ok {
			return l
		}
		r := e.sum(eval)
		if !eval {
			continue
		}
		c := 0
		if a, ok := exprInt(l); ok {
			if b, ok := exprInt(r); ok {
				c = a.Cmp(b)
			} else {
				c = strings.Compare(l, r)
			}
		} else {
			c = strings.Compare(l, r)
		}
		l = truth(op == "<" && c < 0 || op == "<=" && c <= 0 || (op == "=" || op == "==") && c == 0 || op == "!=" && c != 0 ||
			op == ">=" && c >= 0 || op == ">" && c > 0)
	}
}

func truth(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

func exprInt(s string) (*big.Int, bool) {
	t := strings.TrimPrefix(s, "-")
	if t == "" || len(t) > 100000 || strings.Trim(t, "0123456789") != "" {
		return nil, false
	}
	return new(big.Int).SetString(s, 10)
}

func (e *expression) integers(l, r string) (a, b *big.Int) {
	a, ok := exprInt(l)
	if ok {
		b, ok = exprInt(r)
	}
	if !ok {
		e.fail("non-integer argument")
	}
	e.p.Tick(1 + len(l) + len(r))
	return a, b
}

func (e *expression) sum(eval bool) string {
	l := e.product(eval)
	for {
		op, ok := e.accept("+", "-")
		if !ok {
			return l
		}
		r := e.product(eval)
		if eval {
			a, b := e.integers(l, r)
			if op == "+" {
				a.Add(a, b)
			} else {
				a.Sub(a, b)
			}
			l = a.String()
		}
	}
}

func (e *expression) product(eval bool) string {
	l := e.match(eval)
	for {
		op, ok := e.accept("*", "/", "%")
		if !ok {
			return l
		}
		r := e.match(eval)
		if !eval {
			continue
		}
		a, b := e.integers(l, r)
		switch {
		case op == "*":
			a.Mul(a, b)
		case b.Sign() == 0:
			e.fail("division by zero")
		case op == "/":
			a.Quo(a, b)
		default:
			a.Rem(a, b)
		}
		l = a.String()
	}
}

func (e *expression) match(eval bool) string {
	l := e.unary(eval)
	for {
		if _, ok := e.accept(":"); !ok {
			return l
		}
		r := e.unary(eval)
		if eval {
			l = e.regexMatch(l, r)
		}
	}
}

func (e *expression) regexMatch(text, pattern string) string {
	re, err := regex.Compile(pattern, regex.Options{Bytes: program.ByteLocale(e.p), Tick: e.p.Tick})
	if err != nil {
		e.fail("%v", err)
	}
	re.SetTick(e.p.Tick)
	// The pattern is anchored at the beginning of the text.
	loc := []int(nil)
	if anchored, aerr := regex.Compile(`^\(`+pattern+`\)`, regex.Options{Bytes: program.ByteLocale(e.p),
		Tick: e.p.Tick}); aerr == nil && !strings.Contains(pattern, `\1`) && !strings.HasPrefix(pattern, "*") &&
		!strings.HasPrefix(pattern, "^") {
		anchored.SetTick(e.p.Tick)
		if loc = anchored.FindSubmatchIndex([]byte(text), 0); loc != nil {
			loc = append([]int{loc[0], loc[1]}, loc[4:]...)
		}
	} else if loc = re.FindSubmatchIndex([]byte(text), 0); loc != nil && loc[0] != 0 {
		loc = nil
	}
	if re.Groups() > 0 {
		if loc == nil || loc[2] < 0 {
			return ""
		}
		return text[loc[2]:loc[3]]
	}
	if loc == nil {
		return "0"
	}
	return e.count(text[loc[0]:loc[1]])
}

func (e *expression) unary(eval bool) string {
	word, ok := e.accept("length", "match", "index", "substr", "+")
	if !ok {
		return e.primary(eval)
	}
	switch word {
	case "+":
		return e.word()
	case "length":
		return e.count(e.unaryNested(eval))
	case "match":
		text := e.unaryNested(eval)
		pattern := e.unaryNested(eval)
		if !eval {
			return ""
		}
		return e.regexMatch(text, pattern)
	case "index":
		text, chars := e.unaryNested(eval), e.unaryNested(eval)
		return e.index(text, chars)
	}
	text, from, count := e.unaryNested(eval), e.unaryNested(eval), e.unaryNested(eval)
	a, ok1 := exprInt(from)
	n, ok2 := exprInt(count)
	if !ok1 || !ok2 || a.Sign() <= 0 || n.Sign() <= 0 {
		return ""
	}
	if program.ByteLocale(e.p) {
		from, to := exprSpan(a, n, len(text))
		return text[from:to]
	}
	runes := bytes.Runes([]byte(text))
	start, end := exprSpan(a, n, len(runes))
	return string(runes[start:end])
}

// exprSpan is where n characters from the a-th on are among so many.
func exprSpan(a, n *big.Int, count int) (from, to int) {
	if !a.IsInt64() || a.Int64() > int64(count) {
		return 0, 0
	}
	from, to = int(a.Int64())-1, count
	if n.IsInt64() && n.Int64() < int64(to-from) {
		to = from + int(n.Int64())
	}
	return from, to
}

// count is how many characters text has.
func (e *expression) count(text string) string {
	if program.ByteLocale(e.p) {
		return strconv.Itoa(len(text))
	}
	return strconv.Itoa(utf8.RuneCountInString(text))
}

// index is the place of the first character of text that is one of chars.
func (e *expression) index(text, chars string) string {
	if program.ByteLocale(e.p) {
		return strconv.Itoa(1 + slices.IndexFunc([]byte(text), func(c byte) bool { return strings.IndexByte(chars, c) >= 0 }))
	}
	if i := strings.IndexAny(text, chars); i >= 0 && chars != "" {
		return strconv.Itoa(utf8.RuneCountInString(text[:i]) + 1)
	}
	return "0"
}

func (e *expression) unaryNested(eval bool) string {
	if e.depth++; e.depth > maxExprDepth {
		e.fail("memory exhausted")
	}
	defer func() { e.depth-- }()
	return e.unary(eval)
}

func (e *expression) word() string {
	if e.pos >= len(e.args) {
		e.fail("syntax error: missing argument after %s", program.Quote(e.args[e.pos-1]))
	}
	e.pos++
	return e.args[e.pos-1]
}

func (e *expression) primary(eval bool) string {
	if e.pos < len(e.args) {
		switch e.args[e.pos] {
		case "(":
			e.pos++
			if e.depth++; e.depth > maxExprDepth {
				e.fail("memory exhausted")
			}
			v := e.or(eval)
			e.depth--
			if e.pos >= len(e.args) {
				e.fail("syntax error: expecting ')' after %s", program.Quote(e.args[e.pos-1]))
			}
			if e.args[e.pos] != ")" {
				e.fail("syntax error: expecting ')' instead of %s", program.Quote(e.args[e.pos]))
			}
			e.pos++
			return v
		case ")":
			e.fail("syntax error: unexpected ')'")
		}
	}
	return e.word()
}
