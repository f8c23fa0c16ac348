package xan

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth bounds the nesting of an expression.
const maxDepth = 200

// maxTokens bounds its length: each operator of a chain is evaluated within the next.
const maxTokens = 10_000

// Expression is a compiled expression.
type Expression struct {
	Source string // as it was written
	root   node
}

type scope struct {
	row   []string
	index int
	last  any // _ of a pipe
}

type node func(s *scope) (any, error)

// Eval computes the expression on a row; index is the row's number, from 0.
func (e *Expression) Eval(row []string, index int) (any, error) {
	return e.root(&scope{row: row, index: index})
}

// Compile parses an expression over columns of the given names.
func Compile(src string, headers []string) (*Expression, error) {
	p, err := newParser(src, headers)
	if err != nil {
		return nil, err
	}
	e, err := p.named()
	if err != nil {
		return nil, err
	}
	if p.peek() != "" {
		return nil, fmt.Errorf("unexpected %q", p.peek())
	}
	return &Expression{Source: strings.TrimSpace(src), root: e.root}, nil
}

// Named is an expression with the name of the column it makes.
type Named struct {
	*Expression
	Name string
}

// CompileAll parses a list of expressions, each with an optional "as name".
func CompileAll(src string, headers []string) ([]Named, error) {
	p, err := newParser(src, headers)
	if err != nil {
		return nil, err
	}
	var out []Named
	for {
		n, err := p.named()
		if err != nil {
			return nil, err
		}
		out = append(out, n)
		if more, err := p.more(); !more {
			return out, err
		}
	}
}

// more reports whether a comma says that the list goes on; if not, it has to be at its end.
func (p *parser) more() (bool, error) {
	switch p.next() {
	case "":
		return false, nil
	case ",":
		return true, nil
	}
	p.at--
	return false, fmt.Errorf("unexpected %q", p.peek())
}

type parser struct {
	src     string
	tokens  []string
	ends    []int // where each token ends in src
	at      int
	depth   int
	headers []string
}

var tokenPattern = regexp.MustCompile("^(?:[0-9]+(?:\\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|[\\p{L}_][\\p{L}\\p{N}_]*|\"(?:[^\"\\\\]|\\\\.)*\"|'(?:[^'\\\\]|\\\\.)*'|`[^`]*`|" +
	"\\*\\*|//|\\+\\+|==|!=|<=|>=|&&|\\|\\||[-+*/%<>=!(),|\\[\\].])")

func newParser(src string, headers []string) (*parser, error) {
	p := &parser{src: src, headers: headers}
	for i := 0; i < len(src); {
		if strings.IndexByte(" \t\r\n", src[i]) >= 0 {
			i++
			continue
		}
		t := tokenPattern.FindString(src[i:])
		if t == "" {
			r, _ := utf8.DecodeRuneInString(src[i:])
			return nil, fmt.Errorf("unexpected %q", r)
		}
		if len(p.tokens) == maxTokens {
			return nil, fmt.Errorf("expression is too long")
		}
		i += len(t)
		p.tokens, p.ends = append(p.tokens, t), append(p.ends, i)
	}
	return p, nil
}

func (p *parser) peek() string {
	if p.at < len(p.tokens) {
		return p.tokens[p.at]
	}
	return ""
}

func (p *parser) next() string {
	t := p.peek()
	p.at++
	return t
}

func (p *parser) accept(words ...string) (string, bool) {
	if t := p.peek(); t != "" && slices.Contains(words, t) {
		p.at++
		return t, true
	}
	return "", false
}

func (p *parser) expect(t string) error {
	if got := p.next(); got != t {
		if got == "" {
			return fmt.Errorf("expected %q at the end", t)
		}
		return fmt.Errorf("expected %q, not %q", t, got)
	}
	return nil
}

func (p *parser) named() (Named, error) {
	first := p.at
	e, err := p.pipe()
	if err != nil {
		return Named{}, err
	}
	start := 0
	if first > 0 {
		start = p.ends[first-1]
	}
	n := Named{Expression: &Expression{Source: strings.TrimSpace(p.src[start:p.ends[p.at-1]]), root: e}}
	n.Name = n.Source
	if _, ok := p.accept("as"); ok {
		t := p.next()
		if n.Name = unquote(t); n.Name == "" {
			return Named{}, fmt.Errorf("expected a name after as")
		}
	}
	return n, nil
}

func unquote(t string) string {
	if len(t) < 2 || strings.IndexByte("\"'`", t[0]) < 0 {
		return t
	}
	body := t[1 : len(t)-1]
	if t[0] == '`' {
		return body
	}
	var b strings.Builder
	for i := 0; i < len(body); i++ {
		c := body[i]
		if c == '\\' && i+1 < len(body) {
			i++
			switch c = body[i]; c {
			case 'n':
				c = '\n'
			case 't':
				c = '\t'
			case 'r':
				c = '\r'
			}
		}
		b.WriteByte(c)
	}
	return b.String()
}

// pipe is a chain of calls that get the value before them as _, or as their first argument.
func (p *parser) pipe() (node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, fmt.Errorf("expression is nested too deeply")
	}
	defer func() { p.depth-- }()
	left, err := p.binary(0)
	for err == nil {
		if _, ok := p.accept("|"); !ok {
			return left, nil
		}
		var right node
		first := p.at
		right, err = p.binary(0)
		if err != nil {
			break
		}
		before := left
		if !slices.Contains(p.tokens[first:p.at], "_") && p.at-first == 1 { // a function's name alone
			name := p.tokens[first]
			right = func(s *scope) (any, error) { return call(name, []any{s.last}, s) }
		}
		left = func(s *scope) (any, error) {
			v, err := before(s)
			if err != nil {
				return nil, err
			}
			inner := *s
			inner.last = v
			return right(&inner)
		}
	}
	return nil, err
}

var levels = [][]string{
	{"or", "||"}, {"and", "&&"},
	{"==", "!=", "<", "<=", ">", ">=", "eq", "ne", "lt", "le", "gt", "ge", "in", "not"},
	{"+", "-", "++", "."}, {"*", "/", "//", "%"}, {"**"},
}

func (p *parser) binary(level int) (node, error) {
	if level == len(levels) {
		return p.unary()
	}
	left, err := p.binary(level + 1)
	if err != nil {
		return nil, err
	}
	for {
		op, ok := p.accept(levels[level]...)
		if !ok {
			return left, nil
		}
		if op == "not" {
			if err := p.expect("in"); err != nil {
				return nil, err
			}
			op = "not in"
		}
		next := level + 1
		if op == "**" {
			next = level
		}
		right, err := p.binary(next)
		if err != nil {
			return nil, err
		}
		a := left
		switch op {
		case "or", "||", "and", "&&":
			stop := op == "or" || op == "||"
			left = func(s *scope) (any, error) {
				v, err := a(s)
				if err != nil || Truthy(v) == stop {
					return v, err
				}
				return right(s)
			}
		default:
			left = func(s *scope) (any, error) {
				x, err := a(s)
				if err != nil {
					return nil, err
				}
				y, err := right(s)
				if err != nil {
					return nil, err
				}
				return operate(op, x, y)
			}
		}
	}
}

func (p *parser) unary() (node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, fmt.Errorf("expression is nested too deeply")
	}
	defer func() { p.depth-- }()
	op, ok := p.accept("-", "!", "not")
	if !ok {
		return p.primary()
	}
	x, err := p.unary()
	if err != nil {
		return nil, err
	}
	return func(s *scope) (any, error) {
		v, err := x(s)
		if err != nil {
			return nil, err
		}
		if op != "-" {
			return !Truthy(v), nil
		}
		n, ok := number(v)
		if !ok {
			return nil, fmt.Errorf("%q is not a number", Text(v))
		}
		return -n, nil
	}, nil
}

func (p *parser) primary() (node, error) {
	t := p.next()
	constant := func(v any) (node, error) { return func(*scope) (any, error) { return v, nil }, nil }
	switch {
	case t == "":
		return nil, fmt.Errorf("unexpected end of expression")
	case t == "(":
		e, err := p.pipe()
		if err != nil {
			return nil, err
		}
		return e, p.expect(")")
	case t == "[":
		items, err := p.arguments("]")
		return func(s *scope) (any, error) { v, err := evalAll(items, s); return v, err }, err
	case t[0] >= '0' && t[0] <= '9':
		f, err := strconv.ParseFloat(t, 64)
		if err != nil {
			return nil, fmt.Errorf("bad number %q", t)
		}
		return constant(f)
	case t[0] == '"' || t[0] == '\'':
		return constant(unquote(t))
	case t == "true" || t == "false":
		return constant(t == "true")
	case t == "null":
		return constant(nil)
	case t == "_":
		return func(s *scope) (any, error) { return s.last, nil }, nil
	case p.peek() == "(" && t[0] != '`':
		p.at++
		args, err := p.arguments(")")
		if err != nil {
			return nil, err
		}
		return p.call(t, args)
	}
	name := unquote(t)
	if i := slices.Index(p.headers, name); i >= 0 {
		return column(i), nil
	}
	if _, ok := functions[t]; ok && p.at >= 2 && p.tokens[p.at-2] == "|" {
		return constant(nil) // replaced by pipe
	}
	if !regexp.MustCompile(`^[\p{L}_]`).MatchString(t) && t[0] != '`' {
		return nil, fmt.Errorf("unexpected %q", t)
	}
	return nil, fmt.Errorf("unknown column %q", name)
}

func column(i int) node {
	return func(s *scope) (any, error) {
		if i < len(s.row) {
			return s.row[i], nil
		}
		return "", nil
	}
}

func (p *parser) arguments(end string) ([]node, error) {
	var out []node
	if _, ok := p.accept(end); ok {
		return nil, nil
	}
	for {
		e, err := p.pipe()
		if err != nil {
			return nil, err
		}
		out = append(out, e)
		switch t := p.next(); t {
		case end:
			return out, nil
		case ",":
		default:
			return nil, fmt.Errorf("expected \",\" or %q, not %q", end, t)
		}
	}
}

func (p *parser) call(name string, args []node) (node, error) {
	switch name {
	case "if":
		if len(args) < 2 || len(args) > 3 {
			return nil, fmt.Errorf("if takes 2 or 3 arguments")
		}
		return func(s *scope) (any, error) {
			v, err := args[0](s)
			switch {
			case err != nil:
				return nil, err
			case Truthy(v):
				return args[1](s)
			case len(args) == 3:
				return args[2](s)
			}
			return nil, nil
		}, nil
	case "try":
		if len(args) != 1 {
			return nil, fmt.Errorf("try takes 1 argument")
		}
		return func(s *scope) (any, error) {
			v, err := args[0](s)
			if err != nil {
				v = nil // that is what try is for
			}
			return v, nil
		}, nil
	case "col":
		return func(s *scope) (any, error) {
			v, err := evalAll(args, s)
			if err != nil || len(v) != 1 {
				return nil, fmt.Errorf("col takes a name or a number")
			}
			i := slices.Index(p.headers, Text(v[0]))
			if n, ok := v[0].(float64); ok {
				i = int(n)
			}
			if i < 0 || i >= len(p.headers) {
				return nil, fmt.Errorf("unknown column %q", Text(v[0]))
			}
			return column(i)(s)
		}, nil
	case "index":
		return func(s *scope) (any, error) { return float64(s.index), nil }, nil
	}
	f, ok := functions[name]
	if !ok {
		return nil, fmt.Errorf("unknown function %q", name)
	}
	if len(args) < f.least || f.most >= 0 && len(args) > f.most {
		return nil, fmt.Errorf("wrong number of arguments for %s", name)
	}
	return func(s *scope) (any, error) {
		v, err := evalAll(args, s)
		if err != nil {
			return nil, err
		}
		return call(name, v, s)
	}, nil
}

func evalAll(nodes []node, s *scope) ([]any, error) {
	out := make([]any, len(nodes))
	for i, n := range nodes {
		v, err := n(s)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// Truthy is what counts as true: neither empty, nor zero, nor false.
func Truthy(v any) bool {
	switch v := v.(type) {
	case bool:
		return v
	case float64:
		return v != 0
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	}
	return false
}

// Text is a value as a cell.
func Text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case float64:
		return FormatNumber(v)
	case []any:
		parts := make([]string, len(v))
		for i, x := range v {
			parts[i] = Text(x)
		}
		return strings.Join(parts, "|")
	}
	return ""
}

// FormatNumber writes a number without needless digits.
func FormatNumber(f float64) string {
	if f == math.Trunc(f) && math.Abs(f) < 1e15 {
		return strconv.FormatInt(int64(f), 10)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// Number reads a cell as a number.
func Number(s string) (float64, bool) {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	return f, err == nil
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case string:
		return Number(v)
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

func compare(x, y any) int {
	a, ok1 := number(x)
	b, ok2 := number(y)
	if !ok1 || !ok2 {
		return strings.Compare(Text(x), Text(y))
	}
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func operate(op string, x, y any) (any, error) {
	switch op {
	case "==":
		return compare(x, y) == 0, nil
	case "!=":
		return compare(x, y) != 0, nil
	case "<":
		return compare(x, y) < 0, nil
	case "<=":
		return compare(x, y) <= 0, nil
	case ">":
		return compare(x, y) > 0, nil
	case ">=":
		return compare(x, y) >= 0, nil
	case "eq":
		return Text(x) == Text(y), nil
	case "ne":
		return Text(x) != Text(y), nil
	case "lt":
		return Text(x) < Text(y), nil
	case "le":
		return Text(x) <= Text(y), nil
	case "gt":
		return Text(x) > Text(y), nil
	case "ge":
		return Text(x) >= Text(y), nil
	case "in", "not in":
		found := false
		if list, ok := y.([]any); ok {
			found = slices.ContainsFunc(list, func(v any) bool { return compare(v, x) == 0 })
		} else {
			found = strings.Contains(Text(y), Text(x))
		}
		return found == (op == "in"), nil
	case "++", ".":
		return Text(x) + Text(y), nil
	}
	a, ok := number(x)
	if !ok {
		return nil, fmt.Errorf("%q is not a number", Text(x))
	}
	b, ok := number(y)
	if !ok {
		return nil, fmt.Errorf("%q is not a number", Text(y))
	}
	switch op {
	case "+":
		return a + b, nil
	case "-":
		return a - b, nil
	case "*":
		return a * b, nil
	case "**":
		return math.Pow(a, b), nil
	}
	if b == 0 {
		return nil, fmt.Errorf("division by zero")
	}
	switch op {
	case "//":
		return math.Floor(a / b), nil
	case "%":
		return math.Mod(a, b), nil
	}
	return a / b, nil
}
