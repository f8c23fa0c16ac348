package dc

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/lang/bc"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/text/decimal"
)

// value is a number or a string.
type value struct {
	num  decimal.Number
	str  string
	text bool
}

// cell is one level of a register.
type cell struct {
	v     value
	set   bool
	array map[int64]value
}

// frame is a text that is being executed.
type frame struct {
	src  []byte
	pos  int
	tail int // calls whose text ended with this call
}

// Machine is a dc at work.
type Machine struct {
	p     *proc.Process
	env   decimal.Env
	stack []value
	regs  map[byte][]cell
	run   []frame
	input func() []byte // the next line of standard input
	stdin bool          // the outermost text is standard input itself

	expression bool // the outermost text is an argument

	scale, ibase, obase int
	line                int
	held                int
	done                bool
}

const (
	maxScale = 100_000
	maxRun   = 100_000
)

// New returns a machine that prints to p; input reads a line for the ? command.
func New(p *proc.Process, input func() []byte) *Machine {
	m := &Machine{p: p, regs: map[byte][]cell{}, ibase: 10, obase: 10, input: input}
	m.env.Tick = p.Tick
	if m.line = bc.LineLength(p, "DC_LINE_LENGTH"); m.line > 0 {
		m.line++ // a digit more than bc
	}
	return m
}

// Close gives back what the machine held.
func (m *Machine) Close() { m.p.Release(m.held) }

// Done reports whether q has ended dc.
func (m *Machine) Done() bool { return m.done }

func (m *Machine) hold(n int) {
	m.held += n
	if n >= 0 {
		m.p.Hold(n)
	} else {
		m.p.Release(-n)
	}
}

func (m *Machine) complain(format string, args ...any) { m.p.Errorf(format, args...) }

func size(v value) int { return 32 + len(v.str) + v.num.Size() }

func (m *Machine) push(v value) {
	m.hold(size(v))
	m.stack = append(m.stack, v)
}

func (m *Machine) pushNum(n decimal.Number) { m.push(value{num: n}) }

func (m *Machine) pushInt(i int) { m.pushNum(decimal.Int64(int64(i))) }

// need reports whether the stack has n values, and says when it has not.
func (m *Machine) need(n int) bool {
	if len(m.stack) < n {
		m.complain("stack empty")
		return false
	}
	return true
}

func (m *Machine) top(n int) value { return m.stack[len(m.stack)-1-n] }

func (m *Machine) drop() value {
	v := m.top(0)
	m.hold(-size(v))
	m.stack[len(m.stack)-1] = value{}
	m.stack = m.stack[:len(m.stack)-1]
	return v
}

// RunInput executes the text of standard input, whose lines ? reads too.
func (m *Machine) RunInput(src []byte) {
	m.stdin = true
	m.Run(src)
	m.stdin = false
}

// RunExpression executes an argument.
func (m *Machine) RunExpression(src string) {
	m.expression = true
	m.Run([]byte(src))
	m.expression = false
}

// Run executes the text of a file.
func (m *Machine) Run(src []byte) {
	m.run = append(m.run, frame{src: src})
	for len(m.run) > 0 && !m.done {
		f := &m.run[len(m.run)-1]
		if f.pos >= len(f.src) {
			m.run = m.run[:len(m.run)-1]
			continue
		}
		m.p.Tick(1)
		c := f.src[f.pos]
		f.pos++
		m.command(f, c)
	}
	m.run = m.run[:0]
}

// next reads the byte that belongs to a command.
func (f *frame) next() byte {
	if f.pos >= len(f.src) {
		return 0
	}
	f.pos++
	return f.src[f.pos-1]
}

func (m *Machine) command(f *frame, c byte) {
	switch {
	case c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' || c == '\v':
	case c >= '0' && c <= '9' || c >= 'A' && c <= 'F' || c == '.' || c == '_':
		f.pos--
		m.number(f)
	case strings.IndexByte("+-*/%^~", c) >= 0:
		m.arithmetic(c)
	case strings.IndexByte("<>=", c) >= 0:
		m.compare(f, c, false)
	case c == '!':
		if n := f.next(); n == '<' || n == '>' || n == '=' {
			m.compare(f, n, true)
			return
		}
		f.toNewline()
		m.complain("system commands are not supported")
	case c == '#':
		f.toNewline()
	case c == '[':
		m.str(f)
	case c == '|':
		m.modexp()
	default:
		if !m.stackCommand(c) && !m.registerCommand(f, c) {
			// dc splits this message between the two streams.
			m.p.Out.Flush()
			m.p.Err.WriteString("dc: ")
			fmt.Fprintf(m.p.Out, "'%s' (0%o) unimplemented\n", []byte{c}, c)
		}
	}
}

func (f *frame) toNewline() {
	if i := bytes.IndexByte(f.src[f.pos:], '\n'); i >= 0 {
		f.pos += i
	} else {
		f.pos = len(f.src)
	}
}

func (m *Machine) number(f *frame) {
	neg := f.src[f.pos] == '_'
	if neg {
		f.pos++
	}
	begin, point := f.pos, false
	for f.pos < len(f.src) {
		c := f.src[f.pos]
		if c == '.' && !point {
			point = true
		} else if !(c >= '0' && c <= '9' || c >= 'A' && c <= 'F') {
			break
		}
		f.pos++
	}
	n, err := m.env.Parse(string(f.src[begin:f.pos]), m.ibase, false)
	if err != nil {
		m.complain("number of more than %d digits", decimal.MaxDigits)
		return
	}
	if neg {
		n = n.Neg()
	}
	m.pushNum(n)
}

// str reads a string up to its closing bracket; one that is not closed is dropped with the rest of the text.
func (m *Machine) str(f *frame) {
	depth := 1
	for i := f.pos; i < len(f.src); i++ {
		switch f.src[i] {
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				m.push(value{str: string(f.src[f.pos:i]), text: true})
				f.pos = i + 1
				return
			}
		}
	}
	f.pos = len(f.src)
}

func (m *Machine) arithmetic(op byte) {
	if !m.need(2) {
		return
	}
	a, b := m.top(1), m.top(0)
	if a.text || b.text {
		m.complain("non-numeric value")
		return
	}
	var v, w decimal.Number
	var err error
	switch op {
	case '+':
		v = m.env.Add(a.num, b.num)
	case '-':
		v = m.env.Sub(a.num, b.num)
	case '*':
		v, err = m.env.Mul(a.num, b.num, m.scale)
	case '/':
		v, err = m.env.Div(a.num, b.num, m.scale)
	case '%':
		if b.num.IsZero() {
			m.complain("remainder by zero")
			return
		}
		_, v, err = m.env.DivMod(a.num, b.num, m.scale)
	case '~':
		v, w, err = m.env.DivMod(a.num, b.num, m.scale)
	case '^':
		if m.env.Cmp(m.env.Integer(b.num), b.num) != 0 {
			m.p.Out.Flush()
			m.p.Err.WriteString("Runtime warning: non-zero scale in exponent\n")
		}
		v, err = m.env.Pow(a.num, b.num, m.scale)
	}
	if err != nil {
		m.failed(err)
		return
	}
	m.drop()
	m.drop()
	m.pushNum(v)
	if op == '~' {
		m.pushNum(w)
	}
}

func (m *Machine) failed(err error) {
	switch {
	case errors.Is(err, decimal.ErrDivideByZero):
		m.complain("divide by zero")
	case errors.Is(err, decimal.ErrExponent):
		m.complain("exponent too large in raise")
	default:
		m.complain("number of more than %d digits", decimal.MaxDigits)
	}
}

// modexp is base, exponent and modulus | .
func (m *Machine) modexp() {
	if !m.need(3) {
		return
	}
	a, b, c := m.top(2), m.top(1), m.top(0)
	switch {
	case a.text || b.text || c.text:
		m.complain("non-numeric value")
		return
	case c.num.IsZero():
		m.complain("remainder by zero")
		return
	case b.num.Sign() < 0:
		return
	}
	base, exp, mod := m.env.Big(a.num), m.env.Big(b.num), m.env.Big(c.num)
	result := big.NewInt(1)
	for i := exp.BitLen() - 1; i >= 0; i-- {
		m.p.Tick(1 + len(mod.Bits()))
		result.Mul(result, result)
		if exp.Bit(i) == 1 {
			result.Mul(result, base)
		}
		result.Rem(result, mod)
	}
	result.Rem(result, mod)
	m.drop()
	m.drop()
	m.drop()
	m.pushNum(decimal.FromBig(result))
}

func (m *Machine) compare(f *frame, op byte, not bool) {
	reg := f.next()
	if !m.need(2) {
		return
	}
	a, b := m.top(0), m.top(1)
	if a.text || b.text {
		m.complain("non-numeric value")
		return
	}
	m.drop()
	m.drop()
	c := m.env.Cmp(a.num, b.num)
	holds := op == '<' && c < 0 || op == '>' && c > 0 || op == '=' && c == 0
	if holds == not {
		return
	}
	if cells := m.regs[reg]; len(cells) > 0 && cells[len(cells)-1].set {
		m.execute(cells[len(cells)-1].v)
	}
}

// execute runs a string; a number goes back onto the stack.
func (m *Machine) execute(v value) {
	if !v.text {
		m.push(v)
		return
	}
	n := len(m.run) - 1
	next := frame{src: []byte(v.str)}
	// What has nothing left to do makes room, so that loops can be written as calls.
	if f := m.run[n]; n > 0 && f.pos >= len(f.src) {
		next.tail = f.tail + 1
		m.run[n] = next
		return
	}
	if len(m.run) >= maxRun {
		m.complain("recursion too deep")
		m.run = m.run[:1]
		return
	}
	m.run = append(m.run, next)
}

// leave ends n levels of execution.
func (m *Machine) leave(n int) {
	for n > 0 && len(m.run) > 0 {
		n -= m.run[len(m.run)-1].tail + 1
		m.run = m.run[:len(m.run)-1]
	}
}

func (m *Machine) show(v value) {
	if v.text {
		m.p.Out.WriteString(v.str)
		return
	}
	bc.WriteLines(m.p.Out, m.env.Format(v.num, m.obase), 0, m.line)
}

// stackCommand runs a command that is about the stack and the parameters.
func (m *Machine) stackCommand(c byte) bool {
	switch c {
	case 'p', 'n', 'P', 'd', 'v', 'k', 'i', 'o', 'a', 'x', 'Z', 'X', 'R', 'Q':
		if !m.need(1) {
			return true
		}
	}
	switch c {
	case 'p':
		m.show(m.top(0))
		m.p.Out.WriteByte('\n')
	case 'n':
		m.show(m.drop())
	case 'P':
		v := m.drop()
		if v.text {
			m.p.Out.WriteString(v.str)
			break
		}
		b := m.env.Big(v.num.Abs()).Bytes()
		if len(b) == 0 {
			b = []byte{0}
		}
		m.p.Out.Write(b)
	case 'f':
		for i := len(m.stack) - 1; i >= 0; i-- {
			m.show(m.stack[i])
			m.p.Out.WriteByte('\n')
		}
	case 'c':
		for len(m.stack) > 0 {
			m.drop()
		}
	case 'd':
		m.push(m.top(0))
	case 'r':
		if n := len(m.stack); n > 1 {
			m.stack[n-1], m.stack[n-2] = m.stack[n-2], m.stack[n-1]
		}
	case 'R':
		m.rotate(m.drop())
	case 'v':
		m.sqrt()
	case 'k', 'i', 'o':
		m.parameter(c, m.drop())
	case 'K':
		m.pushInt(m.scale)
	case 'I':
		m.pushInt(m.ibase)
	case 'O':
		m.pushInt(m.obase)
	case 'z':
		m.pushInt(len(m.stack))
	case 'a':
		v := m.drop()
		if v.text {
			v.str = v.str[:min(1, len(v.str))]
		} else {
			b := m.env.Big(v.num.Abs()).Bytes()
			v = value{text: true, str: "\x00"}
			if len(b) > 0 {
				v.str = string(b[len(b)-1:])
			}
		}
		m.push(v)
	case 'x':
		m.execute(m.drop())
	case 'Z':
		v := m.drop()
		n := len(v.str)
		if !v.text {
			n = v.num.Significant()
		}
		m.pushInt(n)
	case 'X':
		v := m.drop()
		m.pushInt(v.num.Scale())
	case 'q':
		m.leave(2)
		if len(m.run) == 0 {
			m.done = true
		}
	case 'Q':
		v := m.drop()
		n, ok := m.env.Int(v.num)
		levels := 0
		for _, f := range m.run[1:] {
			levels += f.tail + 1
		}
		switch {
		case v.text || !ok || n < 1:
			m.complain("Q command requires a number >= 1")
		case n == 1:
			// dc leaves one level less than it says.
		case n > int64(levels) && m.expression:
			m.run = m.run[:0]
		case n > int64(levels):
			m.complain("Q command argument exceeded string execution depth")
			m.run = m.run[:1]
		default:
			m.leave(int(n))
		}
	case '?':
		m.p.Out.Flush()
		m.ask()
	default:
		return false
	}
	return true
}

// ask executes the next line of standard input.
func (m *Machine) ask() {
	var line []byte
	if m.stdin {
		f := &m.run[0]
		from := f.pos
		f.toNewline()
		line = f.src[from:f.pos]
	} else {
		line = m.input()
	}
	m.run = append(m.run, frame{src: line})
}

func (m *Machine) sqrt() {
	v := m.top(0)
	if v.text {
		m.complain("square root of nonnumeric attempted")
		return
	}
	n, err := m.env.Sqrt(v.num, m.scale)
	switch {
	case errors.Is(err, decimal.ErrNegative):
		m.complain("square root of negative number")
	case err != nil:
		m.failed(err)
	default:
		m.drop()
		m.pushNum(n)
	}
}

func (m *Machine) rotate(v value) {
	n, ok := m.env.Int(v.num)
	if v.text || !ok {
		m.complain("non-numeric value")
		return
	}
	up := n > 0
	if n < 0 {
		n = -n
	}
	k := int(min(n, int64(len(m.stack))))
	if k < 2 {
		return
	}
	m.p.Tick(1 + k>>4)
	part := m.stack[len(m.stack)-k:]
	if up {
		first := part[0]
		copy(part, part[1:])
		part[k-1] = first
	} else {
		last := part[k-1]
		copy(part[1:], part)
		part[0] = last
	}
}

func (m *Machine) parameter(c byte, v value) {
	n, ok := m.env.Int(v.num)
	ok = ok && !v.text
	switch {
	case c == 'k' && (!ok || n < 0):
		m.complain("scale must be a nonnegative number")
	case c == 'k':
		m.scale = int(min(n, maxScale))
	case c == 'i' && (!ok || n < 2 || n > 16):
		m.complain("input base must be a number between 2 and 16 (inclusive)")
	case c == 'i':
		m.ibase = int(n)
	case !ok || n < 2 || n > 1<<31-1:
		m.complain("output base must be a number greater than 1")
	default:
		m.obase = int(n)
	}
}

// registerCommand runs a command that names a register.
func (m *Machine) registerCommand(f *frame, c byte) bool {
	if strings.IndexByte("slSL:;", c) < 0 {
		return false
	}
	reg := f.next()
	cells := m.regs[reg]
	n := len(cells) - 1
	switch c {
	case 's', 'S':
		if !m.need(1) {
			return true
		}
		v := m.drop()
		m.hold(size(v))
		switch {
		case c == 'S' || n < 0:
			m.regs[reg] = append(cells, cell{v: v, set: true})
		default:
			if cells[n].set {
				m.hold(-size(cells[n].v))
			}
			cells[n].v, cells[n].set = v, true
		}
	case 'l':
		if n < 0 || !cells[n].set {
			m.pushInt(0)
		} else {
			m.push(cells[n].v)
		}
	case 'L':
		if n < 0 || !cells[n].set {
			m.complain("stack register '%s' (0%o) is empty", []byte{reg}, reg)
			break
		}
		m.hold(-size(cells[n].v))
		m.regs[reg] = cells[:n]
		m.push(cells[n].v)
	case ':', ';':
		m.element(reg, c)
	}
	return true
}

func (m *Machine) element(reg, c byte) {
	want := 1
	if c == ':' {
		want = 2
	}
	if !m.need(want) {
		return
	}
	at := m.drop()
	i, ok := m.env.Int(at.num)
	if at.text || !ok || i < 0 {
		m.complain("array index must be a nonnegative integer")
		if c == ':' {
			m.drop()
		}
		return
	}
	if len(m.regs[reg]) == 0 {
		m.regs[reg] = []cell{{}}
	}
	top := &m.regs[reg][len(m.regs[reg])-1]
	if c == ';' {
		m.push(top.array[i])
		return
	}
	v := m.drop()
	if top.array == nil {
		top.array = map[int64]value{}
	}
	m.hold(size(v) + 32)
	if old, had := top.array[i]; had {
		m.hold(-size(old) - 32)
	}
	top.array[i] = v
}
