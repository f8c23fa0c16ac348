package jq

import "math"

// op is what an instruction does. Every value that is computed has a register of its own in the frame of its function:
// nothing else writes to it, so that going back to a fork needs no more than the place and the frame.
type op uint8

const (
	opMove      op = iota // a = b
	opTake                // a = b, and b is null from then on
	opOuter               // a = register b of the frame c levels out
	opIndex               // a = b[c]
	opIndexOpt            // the same, backtracking where that is an error
	opSlice               // a = b[c:d]
	opSliceOpt            //
	opEach                // a = each element of b
	opEachOpt             //
	opRecurse             // a = b and everything in it
	opRange               // a = the numbers from b to c by d
	opJump                // to c
	opJumpFalse           // to c when b is false or null
	opJumpTrue            //
	opFork                // goes on; backtracking continues at c
	opForkNext            // only an error continues at c
	opBacktrack           //
	opTry                 // an error continues at c with its value in a
	opTryEnd              // what belongs to the opTry with c comes to its end
	opLabel               // a = this place
	opBreak               // backtracks to label b, of the frame c levels out
	opError               // raises b
	opCall                // a = call of b
	opParam               // a = parameter of b
	opReturn              // b
	opNative              // a = nat of b
	opNegate              // a = -b
	opBinary              // a = b op c
	opNot                 // a = not b
	opCollect             // a = new list
	opAppend              // a gets b
	opArray               // a = array of list b
	opObject              // a = object of regs
	opString              // a = string of regs
	opPath                // a = the state of paths; they begin at b
	opPathEnd             // a = path of b, the state becomes c
	opGetPath             // a = b at path c
	opEnv                 // a = $ENV
)

// instr is an instruction. Operands below 0 are constants.
type instr struct {
	op         op
	main       bool // its input is the path's, in a frame that tracks paths
	tail       bool // of a call
	a, b, c, d int32
	call       *callSpec
	nat        native
	regs       []int32
	x          any
}

// fn is the code of a function, or of an argument of one.
type fn struct {
	name   string
	code   []instr
	consts []any
	nregs  int
	params []param
	nclos  int
}

// param is a parameter: a value in a register, or a closure.
type param struct {
	name  string
	value bool
	reg   int32
}

type callSpec struct {
	fn     *fn
	levels int32         // how far out the frame is in which the function was defined; -1: none
	index  int32         // of a parameter
	args   []closureSpec // the closures
	vals   []int32       // the values
	own    bool          // an argument refers to the frame of the caller
}

// closureSpec is an argument: code, or a parameter passed on.
type closureSpec struct {
	fn            *fn
	levels, index int32
}

// native is a function of values. Its arguments are evaluated in all combinations, the last one slowest.
type native = func(m *Machine, v any, args []any) (any, error)

type key struct {
	name string
	args int
}

// fctx is a function that is being compiled.
type fctx struct {
	up    *fctx
	fn    *fn
	seen  map[any]int32 // where the constants are
	meter Meter
}

// context is that of the code of f, which is inside up.
func (c *compiler) context(up *fctx, f *fn) *fctx { return &fctx{up: up, fn: f, meter: c.meter} }

// instrSize is about what an instruction takes, with its registers and what it refers to.
const instrSize = 240

type bindKind uint8

const (
	bindVar    bindKind = iota // register reg of ctx
	bindConst                  // val
	bindFunc                   // fn, defined in ctx
	bindParam                  // parameter reg of ctx
	bindInline                 // an argument that is compiled in place
	bindLabel                  // register reg of ctx
)

// scope is what names mean: a list of bindings, the newest first.
type scope struct {
	up   *scope
	name string
	kind bindKind
	args int
	ctx  *fctx
	reg  int32
	fn   *fn
	val  any
	node *node
	in   *scope // of node
	// problems are those of a function. They are told when it is called: what nobody uses is not looked at.
	problems *[]string
}

type compiler struct {
	src      *source
	meter    Meter
	problems []string
	depth    int
	lib      *library
	limit    int // in the library, how many of its functions may be compiled into others; 0: all
}

func (c *compiler) problem(what string, at, end int) {
	c.problems = append(c.problems, c.meter.located(what, c.src.file, c.src.text, at, end))
}

// find is the innermost binding from s outwards that fits.
func (c *compiler) find(s *scope, fits func(*scope) bool) *scope {
	n := 0
	for ; s != nil && !fits(s); s = s.up {
		if n++; n&1023 == 0 {
			c.meter.Tick(64)
		}
	}
	c.meter.Tick(1 + n&1023>>4)
	return s
}

func (f *fctx) reg() int32 {
	f.fn.nregs++
	return int32(f.fn.nregs - 1)
}

func (f *fctx) constant(v any) int32 {
	if x, ok := v.(float64); ok && x == 0 && math.Signbit(x) {
		v = &Literal{f: x, text: "-0"} // not the same as 0
	}
	if i, ok := f.seen[v]; ok {
		return i
	}
	if f.seen == nil {
		f.seen = map[any]int32{}
	}
	f.fn.consts = append(f.fn.consts, v)
	i := int32(^(len(f.fn.consts) - 1))
	f.seen[v] = i
	return i
}

func (f *fctx) emit(i instr) int {
	if n := len(f.fn.code); n&63 == 63 {
		f.meter.Tick(64)
		f.meter.Hold(64 * instrSize)
	}
	f.fn.code = append(f.fn.code, i)
	return len(f.fn.code) - 1
}

func (f *fctx) here() int32 { return int32(len(f.fn.code)) }

// land makes the jump at i end here.
func (f *fctx) land(i int) { f.fn.code[i].c = f.here() }

func levels(from, to *fctx) int32 {
	n := int32(0)
	for f := from; f != to; f = f.up {
		n++
	}
	from.meter.Tick(int(n >> 6))
	return n
}
