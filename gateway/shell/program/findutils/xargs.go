package findutils

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var xargsSpec = getopt.New("+0a:E:e::i::I:l::L:n:prs:txP:d:o",
	"null=0 arg-file:=a delimiter:=d eof::=e replace::=i max-lines::=l max-args:=n open-tty=o interactive=p "+
		"no-run-if-empty=r max-chars:=s verbose=t show-limits exit=x max-procs:=P process-slot-var:").
	WithUsage("[OPTION]... COMMAND [INITIAL-ARGS]...",
		"Run COMMAND with arguments INITIAL-ARGS and more arguments read from input.").
	WithVersion("(GNU findutils) 4.9.0")

// xargsBytes is the size of a command line unless -s says otherwise; with the lower bound below.
const xargsBytes = 128 << 10

// xargsRun is one run of xargs.
type xargsRun struct {
	ctx     context.Context
	p       *proc.Process
	in      io.Reader
	buf     []byte
	pos     int
	n       int
	eof     bool
	err     error
	delim   int // -1: blanks and newlines, with quotes
	eofStr  string
	hasEOF  bool
	maxArgs int
	lines   int
	replace string
	noEmpty bool
	verbose bool
	size    int
	exit    bool
	keepIn  bool
	initial []string
	slot    string // the variable that holds the number of the process; they run one after the other, so it is 0
	base    int    // bytes of the initial arguments
	args    []string
	used    int
	status  int
	ran     bool
	warned  bool
}

func xargs(ctx context.Context, p *proc.Process) int {
	x := &xargsRun{ctx: ctx, p: p, in: p.Stdin, delim: -1, size: xargsBytes, buf: make([]byte, 64<<10)}
	opts, args := xargsSpec.Parse(p)
	number := func(o getopt.Option, low int64) int {
		n, err := strconv.ParseInt(o.Value, 10, 64)
		switch {
		case err != nil && !errors.Is(err, strconv.ErrRange):
			p.Errorf("invalid number \"%s\" for -%s option", o.Value, o.Key)
			xargsSpec.Hint(p)
		case n < low:
			p.Errorf("value %s for -%s option should be >= %d", o.Value, o.Key, low)
			xargsSpec.Hint(p)
		}
		return int(min(n, math.MaxInt32))
	}
	exclusive := func(now, before string) {
		p.Errorf("warning: options %s and %s are mutually exclusive, ignoring previous %s value", before, now, before)
	}
	for _, o := range opts {
		switch o.Key {
		case "0":
			x.delim = 0
		case "a":
			f, err := p.Open(o.Value, vfs.ReadOnly, 0)
			if o.Value == "-" {
				continue
			}
			if err != nil {
				p.Errorf("Cannot open input file %s: %s", program.Quote(o.Value), proc.Strerror(err))
				return 1
			}
			defer f.Close()
			x.in, x.keepIn = f, true
		case "d":
			c, ok := xargsDelimiter(o.Value)
			if !ok {
				if len(o.Value) == 2 && o.Value[0] == '\\' {
					p.Errorf("Invalid escape sequence %s in input delimiter specification.", o.Value)
					return 1
				}
				p.Errorf("Invalid input delimiter specification %s: the delimiter must be either a single character or an escape sequence starting with \\.", o.Value)
				return 1
			}
			x.delim = int(c)
		case "E", "e":
			x.eofStr, x.hasEOF = o.Value, o.Value != ""
		case "I", "i":
			if x.lines > 0 {
				exclusive("--replace/-I/-i", "--max-lines")
			}
			if x.maxArgs > 0 {
				exclusive("--replace/-I/-i", "--max-args")
			}
			x.maxArgs, x.lines = 0, 0
			x.replace = o.Value
			if o.Key == "i" && !o.Has {
				x.replace = "{}"
			}
		case "l", "L":
			if x.maxArgs > 0 {
				exclusive("-"+o.Key, "--max-args")
			}
			if x.replace != "" {
				exclusive("-"+o.Key, "--replace")
			}
			x.maxArgs, x.replace = 0, ""
			x.lines = 1
			if o.Key == "L" || o.Has {
				x.lines = number(o, 1)
			}
		case "n":
			n := number(o, 1)
			if x.lines > 0 {
				exclusive("--max-args/-n", "--max-lines")
			}
			if x.replace != "" && n != 1 {
				exclusive("--max-args/-n", "--replace")
			}
			x.lines = 0
			if x.replace != "" && n == 1 { // POSIX lets -n 1 stand with -I
				continue
			}
			x.maxArgs, x.replace = n, ""
		case "s":
			x.size = min(number(o, 1), 2<<20)
		case "P":
			number(o, 0) // commands run one after the other
		case "r":
			x.noEmpty = true
		case "t":
			x.verbose = true
		case "p":
			p.Errorf("failed to open /dev/tty for reading: No such device or address")
			return 1
		case "x":
			x.exit = true
		case "process-slot-var":
			if strings.Contains(o.Value, "=") {
				p.Errorf("option --process-slot-var may not be set to a value which includes `='")
				return 1
			}
			x.slot = o.Value
		}
	}
	if len(args) == 0 {
		args = []string{"echo"}
	}
	x.initial = args
	if x.replace == "" {
		for _, a := range args {
			x.base += len(a) + 1
		}
		if x.base > x.size {
			p.Errorf("cannot fit single argument within argument list size limit")
			return 1
		}
	}
	x.used = x.base
	if x.replace != "" || x.lines > 0 {
		x.exit = true
	}
	x.loop()
	return x.status
}

func xargsDelimiter(s string) (byte, bool) {
	if len(s) == 1 {
		return s[0], true
	}
	if len(s) < 2 || s[0] != '\\' {
		return 0, false
	}
	if i := strings.IndexByte(`abfnrtv\`, s[1]); i >= 0 && len(s) == 2 {
		return "\a\b\f\n\r\t\v\\"[i], true
	}
	base, digits := 8, s[1:]
	if s[1] == 'x' {
		base, digits = 16, s[2:]
	}
	v, err := strconv.ParseUint(digits, base, 8)
	return byte(v), err == nil
}

// byte reads one byte of input.
func (x *xargsRun) byte() (byte, bool) {
	if x.pos == x.n {
		if x.eof {
			return 0, false
		}
		for {
			n, err := x.in.Read(x.buf)
			x.p.Tick(1 + n>>8)
			x.pos, x.n = 0, n
			if err != nil {
				x.eof = true
				if !errors.Is(err, io.EOF) {
					x.err = err
				}
			}
			if n > 0 {
				break
			}
			if x.eof {
				return 0, false
			}
		}
	}
	c := x.buf[x.pos]
	x.pos++
	return c, true
}

func (x *xargsRun) fatal(status int, format string, args ...any) {
	x.p.Errorf(format, args...)
	x.p.Exit(status)
}

// token reads the next argument; endLine says that a line ended after it.
func (x *xargsRun) token() (tok []byte, endLine, ok bool) {
	cut := false // the argument ends at a NUL byte, as it would in C
	grow := func(c byte) {
		if cut {
			return
		}
		tok = append(tok, c)
		if len(tok) > x.size {
			x.fatal(1, "argument line too long")
		}
	}
	if x.delim >= 0 {
		for {
			c, more := x.byte()
			if !more {
				return tok, true, len(tok) > 0
			}
			if int(c) == x.delim {
				return tok, true, true
			}
			if c == 0 {
				x.warnNUL()
				cut = true
			}
			grow(c)
		}
	}
	started := false
	var quoted byte
	for {
		c, more := x.byte()
		if !more {
			if quoted != 0 {
				x.unmatched(quoted)
			}
			return tok, true, started
		}
		switch {
		case quoted != 0:
			switch c {
			case quoted:
				quoted = 0
			case '\n':
				x.unmatched(quoted)
			default:
				grow(c)
			}
		case c == '\'' || c == '"':
			quoted, started = c, true
		case c == '\\':
			e, more := x.byte()
			if more {
				grow(e)
			}
			started = true
		case c == '\n':
			if started {
				return tok, true, true
			}
		case x.replace != "" && started:
			grow(c)
		case c == ' ' || c == '\t':
			if started {
				return tok, false, true
			}
		case !started && (c == '\v' || c == '\f' || c == '\r'): // skipped before a word, not within
		case c == 0:
			x.warnNUL()
			cut = true
		default:
			started = true
			grow(c)
		}
	}
}

func (x *xargsRun) unmatched(q byte) {
	if len(x.args) > 0 {
		x.run()
	}
	kind := "double"
	if q == '\'' {
		kind = "single"
	}
	x.fatal(1, "unmatched %s quote; by default quotes are special to xargs unless you use the -0 option", kind)
}

func (x *xargsRun) warnNUL() {
	if !x.warned {
		x.warned = true
		x.p.Errorf("WARNING: a NUL character occurred in the input.  It cannot be passed through in the argument list.  Did you mean to use the --null option?")
	}
}

func (x *xargsRun) loop() {
	lines := 0
	for {
		x.p.Tick(1)
		tok, endLine, ok := x.token()
		if !ok {
			break
		}
		if x.hasEOF && x.delim < 0 && string(tok) == x.eofStr {
			break
		}
		if x.replace != "" {
			x.runReplaced(string(tok))
			continue
		}
		if x.used+len(tok)+1 > x.size {
			if len(x.args) == 0 {
				x.fatal(1, "argument line too long")
			}
			if x.exit && (x.lines > 0 || x.maxArgs > 0) {
				x.fatal(1, "argument list too long")
			}
			x.run()
			if x.used+len(tok)+1 > x.size {
				x.fatal(1, "argument line too long")
			}
		}
		x.args = append(x.args, string(tok))
		x.used += len(tok) + 1
		if x.maxArgs > 0 && len(x.args) == x.maxArgs {
			x.run()
		}
		if endLine && x.lines > 0 {
			if lines++; lines == x.lines {
				x.run()
				lines = 0
			}
		}
	}
	if x.err != nil {
		x.fatal(1, "read error: %s", proc.Strerror(x.err))
	}
	if len(x.args) > 0 || !x.ran && !x.noEmpty && x.replace == "" {
		x.run()
	}
}

func (x *xargsRun) run() {
	argv := append(append(make([]string, 0, len(x.initial)+len(x.args)), x.initial...), x.args...)
	x.args, x.used = x.args[:0], x.base
	x.spawn(argv)
}

func (x *xargsRun) runReplaced(tok string) {
	argv := make([]string, len(x.initial))
	size := 0
	for i, a := range x.initial {
		if i > 0 {
			a = strings.ReplaceAll(a, x.replace, tok)
		}
		argv[i] = a
		if size += len(a) + 1; size > x.size {
			x.fatal(1, "argument list too long")
		}
	}
	x.spawn(argv)
}

func (x *xargsRun) spawn(argv []string) {
	x.ran = true
	if x.verbose {
		words := make([]string, len(argv))
		for i, a := range argv {
			words[i] = program.ShellQuote(a, false)
		}
		x.p.Out.Flush()
		fmt.Fprintln(x.p.Err, strings.Join(words, " "))
	}
	child := x.p.Child(argv...)
	if x.slot != "" {
		child.Env = x.p.Variables().Set(x.slot + "=0")
	}
	if !x.keepIn {
		child.Stdin = vfs.NullInput{}
	}
	if _, err := child.LookPath(argv[0]); err != nil {
		status := 126
		if errors.Is(err, vfs.ENOENT) {
			status = 127
		}
		x.fatal(status, "%s: %s", argv[0], proc.Strerror(err))
	}
	switch status := x.p.Exec(x.ctx, child); {
	case child.Signaled != 0:
		x.fatal(125, "%s: terminated by signal %d", argv[0], child.Signaled)
	case status == 0:
	case status == 255:
		if x.status == 0 {
			x.status = 124
		}
		x.fatal(x.status, "%s: exited with status 255; aborting", argv[0])
	default:
		x.status = 123
	}
}
