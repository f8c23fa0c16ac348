package bc

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/text/decimal"
)

// Machine is a bc at work. Make one with [New].
type Machine struct {
	p   *proc.Process
	env decimal.Env

	scale, ibase, obase int
	last                decimal.Number
	vars                map[string]decimal.Number
	arrays              map[string]*array
	funcs               map[string]*function
	library             bool
	held                int

	line    int // width of output lines, 0 for no limit
	col     int
	current string // the function that runs
	calls   int
	depth   int // of statements and expressions
	seed    *random
}

type array struct{ m map[int64]decimal.Number }

const (
	maxScale    = 100_000
	maxSubcript = 16777215
	maxCalls    = 60_000
	callCost    = 4096    // bytes of Go stack for each
	maxEval     = 100_000 // statements and expressions within each other, those of all calls that are under way together
)

// New returns a machine that prints to p.
func New(p *proc.Process) *Machine {
	m := &Machine{p: p, ibase: 10, obase: 10, vars: map[string]decimal.Number{}, arrays: map[string]*array{},
		funcs: map[string]*function{}, current: "(main)"}
	m.env.Tick = p.Tick
	m.line = LineLength(p, "BC_LINE_LENGTH")
	return m
}

// LineLength is the width of output lines that the environment asks for; 0 means that lines are not broken.
func LineLength(p *proc.Process, variable string) int {
	if n, err := strconv.Atoi(p.Getenv(variable)); err == nil && (n == 0 || n > 2) {
		return n
	}
	return 70
}

// UseLibrary defines s, c, a, l, e and j, and sets scale to 20.
func (m *Machine) UseLibrary() {
	m.library = true
	m.scale = 20
}

// Close gives back what the machine held.
func (m *Machine) Close() { m.p.Release(m.held) }

func (m *Machine) hold(n int) {
	m.held += n
	if n >= 0 {
		m.p.Hold(n)
	} else {
		m.p.Release(-n)
	}
}

// stop ends everything.
type stop struct{}

// failure ends the line that runs.
type failure struct{}

// Run executes a program text; name is what messages call it. ok is false when the program has ended bc.
func (m *Machine) Run(src, name string) (ok bool) {
	p := &parser{lex: &lexer{src: src, line: 1}, tick: m.p.Tick}
	p.lex.illegal = func(line int, c string) { m.complain(name, line, "illegal character: "+c) }
	p.def = func(f *function) { m.funcs[f.name] = f }
	p.isVoid = func(name string) bool { f, ok := m.funcs[name]; return ok && f.void }
	p.limits = func() { m.write(limits) }
	p.warranty = func() { m.write(warranty) }
	for {
		stmts, more, failed, ended := m.parse(p, name)
		if ended {
			return false
		}
		if failed {
			continue
		}
		if !more {
			return true
		}
		if !m.execute(stmts) {
			return false
		}
	}
}

func (m *Machine) complain(name string, line int, msg string) {
	m.p.Tick(4)
	m.p.Out.Flush()
	fmt.Fprintf(m.p.Err, "%s %d: %s\n", name, line, msg)
}

// parse reads a line; what is wrong with it is said here.
func (m *Machine) parse(p *parser, name string) (stmts []*node, more, failed, ended bool) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case quit:
			ended = true
		case syntaxError:
			m.complain(name, r.line, r.msg)
			failed = true
			func() {
				defer func() {
					if r := recover(); r != nil {
						if _, is := r.(quit); !is {
							panic(r)
						}
						ended = true
					}
				}()
				p.recover()
			}()
		default:
			panic(r)
		}
	}()
	stmts, more = p.line()
	return stmts, more, false, false
}

// execute runs the statements of a line; false ends bc.
func (m *Machine) execute(stmts []*node) (ok bool) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case stop:
			ok = false
		case failure:
			m.current, m.calls, m.depth = "(main)", 0, 0
			ok = true
		default:
			panic(r)
		}
	}()
	m.statements(stmts)
	return true
}

// fail reports an error at a program address and gives up the line.
func (m *Machine) fail(pc int, format string, args ...any) {
	m.warnAs("error", pc, format, args...)
	panic(failure{})
}

func (m *Machine) warn(pc int, format string, args ...any) { m.warnAs("warning", pc, format, args...) }

func (m *Machine) warnAs(what string, pc int, format string, args ...any) {
	m.p.Out.Flush()
	fmt.Fprintf(m.p.Err, "Runtime %s (func=%s, adr=%d): %s\n", what, m.current, pc, fmt.Sprintf(format, args...))
}

// flow is how a statement ended.
type flow uint8

const (
	onward flow = iota
	broke
	continued
	returned
)

// result is the value of the return that ended a statement.
func (m *Machine) statements(list []*node) (flow, decimal.Number) {
	for _, n := range list {
		if f, v := m.statement(n); f != onward {
			return f, v
		}
	}
	return onward, decimal.Number{}
}

func (m *Machine) statement(n *node) (flow, decimal.Number) {
	m.p.Tick(1)
	m.enter(n)
	f, v := m.run(n)
	m.depth--
	return f, v
}

// enter counts a step down into a statement or an expression.
func (m *Machine) enter(n *node) {
	if m.depth++; m.depth > maxEval {
		m.fail(n.pc, "nested too deeply")
	}
}

func (m *Machine) run(n *node) (flow, decimal.Number) {
	var none decimal.Number
	switch n.op {
	case "block":
		return m.statements(n.kids)
	case "show":
		v := m.eval(n.kids[0])
		m.last = v
		m.write(m.env.Format(v, m.obase) + "\n")
	case "drop":
		m.eval(n.kids[0])
	case "string":
		m.write(n.text)
	case "print":
		for _, k := range n.kids {
			if k.op == "string" {
				m.write(printEscapes(k.text))
				continue
			}
			v := m.eval(k)
			m.last = v
			m.write(m.env.Format(v, m.obase))
		}
	case "break":
		return broke, none
	case "continue":
		return continued, none
	case "halt":
		panic(stop{})
	case "return":
		if len(n.kids) > 0 {
			return returned, m.eval(n.kids[0])
		}
		return returned, none
	case "if":
		if !m.eval(n.kids[0]).IsZero() {
			return m.statement(n.kids[1])
		}
		if len(n.kids) > 2 {
			return m.statement(n.kids[2])
		}
	case "while":
		for !m.eval(n.kids[0]).IsZero() {
			if f, v := m.statement(n.kids[1]); f == broke {
				break
			} else if f == returned {
				return f, v
			}
		}
	case "for":
		if n.kids[0] != nil {
			m.eval(n.kids[0])
		}
		for n.kids[1] == nil || !m.eval(n.kids[1]).IsZero() {
			if f, v := m.statement(n.kids[3]); f == broke {
				break
			} else if f == returned {
				return f, v
			}
			if n.kids[2] != nil {
				m.eval(n.kids[2])
			}
			m.p.Tick(1)
		}
	}
	return onward, none
}

// check turns an error of the arithmetic into bc's.
func (m *Machine) check(v decimal.Number, err error, pc int, divide string) decimal.Number {
	switch {
	case err == nil:
		return v
	case errors.Is(err, decimal.ErrDivideByZero):
		m.fail(pc, "%s", divide)
	case errors.Is(err, decimal.ErrExponent):
		m.fail(pc, "exponent too large in raise")
	case errors.Is(err, decimal.ErrNegative):
		m.fail(pc, "Square root of a negative number")
	}
	m.fail(pc, "number of more than %d digits", decimal.MaxDigits)
	return v
}

func truth(b bool) decimal.Number {
	if b {
		return decimal.Int64(1)
	}
	return decimal.Number{}
}

func (m *Machine) eval(n *node) decimal.Number {
	m.p.Tick(1)
	m.enter(n)
	v := m.operate(n)
	m.depth--
	return v
}

func (m *Machine) operate(n *node) decimal.Number {
	switch n.op {
	case "number":
		v, err := m.env.Parse(n.text, m.ibase, true)
		return m.check(v, err, n.pc, "")
	case "paren":
		return m.eval(n.kids[0])
	case "variable", "special", "element":
		return m.load(n, m.subscript(n))
	case "neg":
		return m.eval(n.kids[0]).Neg()
	case "!":
		return truth(m.eval(n.kids[0]).IsZero())
	case "&&":
		return truth(!m.eval(n.kids[0]).IsZero() && !m.eval(n.kids[1]).IsZero())
	case "||":
		return truth(!m.eval(n.kids[0]).IsZero() || !m.eval(n.kids[1]).IsZero())
	case "rel":
		a := m.eval(n.kids[0])
		c := m.env.Cmp(a, m.eval(n.kids[1]))
		switch n.text {
		case "<":
			return truth(c < 0)
		case ">":
			return truth(c > 0)
		case "<=":
			return truth(c <= 0)
		case ">=":
			return truth(c >= 0)
		case "==":
			return truth(c == 0)
		}
		return truth(c != 0)
	case "+", "-", "*", "/", "%", "^":
		a := m.eval(n.kids[0])
		return m.binary(n.op, a, m.eval(n.kids[1]), n.pc)
	case "=", "+=", "-=", "*=", "/=", "%=", "^=":
		return m.assign(n)
	case "++", "--":
		i := m.subscript(n.kids[0])
		old := m.load(n.kids[0], i)
		step := decimal.Int64(1)
		if n.op == "--" {
			step = step.Neg()
		}
		v := m.env.Add(old, step)
		m.store(n.kids[0], i, v, n.pc)
		if n.text == "post" {
			return old
		}
		return m.load(n.kids[0], i)
	case "call":
		return m.call(n)
	case "length()":
		return decimal.Int64(int64(m.eval(n.kids[0]).Len()))
	case "scale()":
		return decimal.Int64(int64(m.eval(n.kids[0]).Scale()))
	case "sqrt()":
		v, err := m.env.Sqrt(m.eval(n.kids[0]), m.scale)
		return m.check(v, err, n.pc, "")
	case "random()":
		if m.seed == nil {
			m.seed = newRandom()
		}
		return decimal.Int64(int64(m.seed.next()))
	case "read()":
		// The program itself comes from standard input, so nothing is left to be read.
		panic(stop{})
	}
	return decimal.Number{}
}

func (m *Machine) binary(op string, a, b decimal.Number, pc int) decimal.Number {
	var v decimal.Number
	var err error
	switch op {
	case "+":
		return m.env.Add(a, b)
	case "-":
		return m.env.Sub(a, b)
	case "*":
		v, err = m.env.Mul(a, b, m.scale)
	case "/":
		v, err = m.env.Div(a, b, m.scale)
		return m.check(v, err, pc, "Divide by zero")
	case "%":
		_, v, err = m.env.DivMod(a, b, m.scale)
		return m.check(v, err, pc, "Modulo by zero")
	case "^":
		if m.env.Cmp(m.env.Integer(b), b) != 0 {
			m.warn(pc, "non-zero scale in exponent")
		}
		v, err = m.env.Pow(a, b, m.scale)
	}
	return m.check(v, err, pc, "divide by zero")
}

// subscript is the index of an element, 0 for other variables.
func (m *Machine) subscript(n *node) int64 {
	if n.op != "element" {
		return 0
	}
	i, ok := m.env.Int(m.eval(n.kids[0]))
	if !ok || i < 0 || i > maxSubcript {
		pc := n.pc
		m.fail(pc, "Array %s subscript out of bounds.", n.name)
	}
	return i
}

func (m *Machine) load(n *node, i int64) decimal.Number {
	switch n.op {
	case "special":
		switch n.name {
		case "scale":
			return decimal.Int64(int64(m.scale))
		case "ibase":
			return decimal.Int64(int64(m.ibase))
		case "obase":
			return decimal.Int64(int64(m.obase))
		case "last":
			return m.last
		}
		return decimal.Int64(-1)
	case "element":
		if a := m.arrays[n.name]; a != nil {
			return a.m[i]
		}
		return decimal.Number{}
	}
	return m.vars[n.name]
}

func (m *Machine) array(name string) *array {
	a := m.arrays[name]
	if a == nil {
		a = &array{map[int64]decimal.Number{}}
		m.arrays[name] = a
	}
	return a
}

func (m *Machine) store(n *node, i int64, v decimal.Number, pc int) {
	switch n.op {
	case "special":
		m.setSpecial(n.name, v, pc)
	case "element":
		a := m.array(n.name)
		old, ok := a.m[i]
		if !ok {
			m.hold(64)
		}
		m.hold(v.Size() - old.Size())
		a.m[i] = v
	default:
		old := m.vars[n.name]
		m.hold(v.Size() - old.Size())
		m.vars[n.name] = v
	}
}

// setSpecial sets scale, ibase, obase or last.
func (m *Machine) setSpecial(name string, v decimal.Number, pc int) {
	if name == "last" {
		m.last = v
		return
	}
	i, fits := m.env.Int(v)
	limit := map[string]int64{"scale": maxScale, "ibase": 36, "obase": 1<<31 - 1}[name]
	low := int64(2)
	if name == "scale" {
		low = 0
	}
	switch {
	case name == "history":
		return
	case v.Sign() < 0:
		m.warn(pc, "negative %s, set to %d", name, low)
		i = low
	case i < low && fits:
		m.warn(pc, "%s too small, set to %d", name, low)
		i = low
	case i > limit || !fits:
		m.warn(pc, "%s too large, set to %d", name, limit)
		i = limit
	}
	switch name {
	case "scale":
		m.scale = int(i)
	case "ibase":
		m.ibase = int(i)
	case "obase":
		m.obase = int(i)
	}
}

func (m *Machine) assign(n *node) decimal.Number {
	target := n.kids[0]
	if target.op == "element" {
		target.pc = n.pc
	}
	i := m.subscript(target)
	var v decimal.Number
	if n.op == "=" {
		v = m.eval(n.kids[1])
	} else {
		old := m.load(target, i)
		pc, _ := strconv.Atoi(n.text)
		v = m.binary(n.op[:1], old, m.eval(n.kids[1]), pc)
	}
	m.store(target, i, v, n.pc)
	if target.op == "special" {
		return m.load(target, i)
	}
	return v
}

func (m *Machine) call(n *node) decimal.Number {
	f, ok := m.funcs[n.name]
	if !ok {
		if v, is := m.libraryCall(n); is {
			return v
		}
		m.fail(n.pc, "Function %s not defined.", n.name)
	}
	mismatch := n.pc + min(len(f.params), len(n.kids)) + 1
	if len(f.params) != len(n.kids) {
		m.fail(mismatch, "Parameter number mismatch")
	}
	if m.calls++; m.calls > maxCalls {
		m.fail(n.pc, "function calls nested too deeply")
	}
	m.hold(callCost)
	type saved struct {
		name string
		v    decimal.Number
		had  bool
		a    *array
		isA  bool
	}
	var old []saved
	keep := func(p param) {
		s := saved{name: p.name, isA: p.array}
		if p.array {
			s.a = m.arrays[p.name]
		} else {
			s.v, s.had = m.vars[p.name]
		}
		old = append(old, s)
	}
	values := make([]decimal.Number, len(f.params))
	arrays := make([]*array, len(f.params))
	for i, p := range f.params {
		arg := n.kids[i]
		if p.array != (arg.op == "array") {
			m.warnAs("error", n.pc+i+1, "Parameter type mismatch parameter %s.", p.name)
			m.fail(mismatch, "Parameter number mismatch")
		}
		if !p.array {
			values[i] = m.eval(arg)
			continue
		}
		arrays[i] = m.array(arg.name)
		if !p.byRef {
			c := &array{make(map[int64]decimal.Number, len(arrays[i].m))}
			m.hold(64 * len(arrays[i].m))
			for k, v := range arrays[i].m {
				m.p.Tick(1)
				c.m[k] = v
			}
			arrays[i] = c
		}
	}
	for i, p := range f.params {
		keep(p)
		if p.array {
			m.arrays[p.name] = arrays[i]
		} else {
			m.vars[p.name] = values[i]
		}
	}
	for _, p := range f.autos {
		keep(p)
		if p.array {
			m.arrays[p.name] = nil
		} else {
			m.vars[p.name] = decimal.Number{}
		}
	}
	caller := m.current
	m.current = f.name
	restore := func() {
		for i := len(old) - 1; i >= 0; i-- {
			if s := old[i]; s.isA {
				m.arrays[s.name] = s.a
			} else if s.had {
				m.vars[s.name] = s.v
			} else {
				delete(m.vars, s.name)
			}
		}
		m.current = caller
		m.calls--
		m.hold(-callCost)
	}
	defer restore()
	_, v := m.statements(f.body)
	return v
}

// libraryCall evaluates a function of bc -l.
func (m *Machine) libraryCall(n *node) (v decimal.Number, ok bool) {
	arity := map[string]int{"s": 1, "c": 1, "a": 1, "l": 1, "e": 1, "j": 2}[n.name]
	if !m.library || arity == 0 {
		return v, false
	}
	if len(n.kids) != arity {
		m.fail(n.pc, "Parameter number mismatch")
	}
	args := make([]decimal.Number, arity)
	for i, k := range n.kids {
		args[i] = m.eval(k)
	}
	var err error
	switch n.name {
	case "s":
		v, err = m.env.Sin(args[0], m.scale)
	case "c":
		v, err = m.env.Cos(args[0], m.scale)
	case "a":
		v, err = m.env.Atan(args[0], m.scale)
	case "l":
		v, err = m.env.Log(args[0], m.scale)
	case "e":
		v, err = m.env.Exp(args[0], m.scale)
	case "j":
		v, err = m.env.Bessel(args[0], args[1], m.scale)
	}
	return m.check(v, err, n.pc, ""), true
}

// write prints s, breaking lines that get too long.
func (m *Machine) write(s string) { m.col = WriteLines(m.p.Out, s, m.col, m.line) }

// WriteLines writes s, of which col bytes are on the line already, with a backslash and a newline where a line would be
// longer than width-1. It returns the new col.
func WriteLines(w io.Writer, s string, col, width int) int {
	out := make([]byte, 0, len(s)+len(s)/32)
	for i := range len(s) {
		if s[i] == '\n' {
			col = 0
		} else if col++; width > 0 && col == width-1 {
			out = append(out, "\\\n"...)
			col = 1
		}
		out = append(out, s[i])
	}
	_, _ = w.Write(out)
	return col
}

// printEscapes resolves the escapes of the print statement.
func printEscapes(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if k := strings.IndexByte(`abfnqrt\`, s[i]); k >= 0 {
			b.WriteByte("\a\b\f\n\"\r\t\\"[k])
		}
	}
	return b.String()
}

const limits = `BC_BASE_MAX     = 2147483647
BC_DIM_MAX      = 16777215
BC_SCALE_MAX    = 100000
BC_STRING_MAX   = 2147483647
MAX Exponent    = 9223372036854775807
Number of vars  = 32767
`

const warranty = `
There is no warranty, to the extent permitted by law.
`

// random is the additive feedback generator that rand(3) is in glibc, with its seed of 1.
type random struct {
	r []uint32
}

func newRandom() *random {
	g := &random{make([]uint32, 34, 400)}
	seed := int64(1)
	for i := range 31 {
		g.r[i] = uint32(seed)
		seed = 16807 * seed % 2147483647
	}
	for i := 31; i < 34; i++ {
		g.r[i] = g.r[i-31]
	}
	for range 310 {
		g.step()
	}
	return g
}

func (g *random) step() uint32 {
	n := len(g.r)
	v := g.r[n-31] + g.r[n-3]
	g.r = append(g.r, v)
	if len(g.r) > 380 {
		g.r = append(g.r[:0], g.r[len(g.r)-31:]...)
	}
	return v
}

func (g *random) next() uint32 { return g.step() >> 1 }
